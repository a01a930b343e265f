import { collectResources, configView } from './plan-configuration.ts'
import type { JsonObject } from './subject.ts'
import { isJsonObject, getList, getObject, getString } from './plain.ts'
import type { JsonValue } from '@reeve/native-policy'

/** Views of a plan for native policies, with collections by address. */
export interface PlanViews {
  readonly plan: () => JsonObject
  readonly state: () => JsonObject
  readonly config: () => JsonObject
}

/** Each view is created on first use and shared by all policies of a run. */
export function createPlanViews(document: JsonObject): PlanViews {
  return {
    plan: once(() => planView(document)),
    state: once(() => stateView(document)),
    config: once(() => configView(document)),
  }
}

function once(compute: () => JsonObject): () => JsonObject {
  let computed: JsonObject | undefined
  return () => (computed ??= compute())
}

function planView(document: JsonObject): JsonObject {
  const planned = getObject(document, 'planned_values')
  return {
    ...toolVersions(document),
    variables: variableValues(getObject(document, 'variables')),
    planned_values: { resources: resourceValues(planned), outputs: outputValues(planned) },
    resource_changes: changesView(getList(document, 'resource_changes')),
    resource_drift: changesView(getList(document, 'resource_drift')),
    output_changes: outputChanges(getObject(document, 'output_changes')),
    raw: document,
  }
}

/**
 * Fields with the version of the planning tool are named after the tool, and are passed through.
 */
function toolVersions(document: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(document).filter(
      ([name, value]) =>
        name !== 'format_version' && name.endsWith('_version') && typeof value === 'string',
    ),
  )
}

function variableValues(values: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      { name, value: isJsonObject(value) ? (value['value'] ?? null) : null },
    ]),
  )
}

function changesView(changes: readonly JsonValue[]): JsonObject {
  return Object.fromEntries(
    changes.filter(isJsonObject).map((change) => {
      const address = getString(change, 'address')
      const deposed = getString(change, 'deposed')
      return [deposed === '' ? address : `${address}:${deposed}`, changeView(change)]
    }),
  )
}

function changeView(entry: JsonObject): JsonObject {
  const change = getObject(entry, 'change')
  return {
    address: getString(entry, 'address'),
    module_address: getString(entry, 'module_address'),
    mode: getString(entry, 'mode'),
    type: getString(entry, 'type'),
    name: getString(entry, 'name'),
    index: entry['index'] ?? null,
    provider_name: getString(entry, 'provider_name'),
    deposed: getString(entry, 'deposed'),
    change: {
      actions: getList(change, 'actions'),
      before: change['before'] ?? null,
      after: change['after'] ?? null,
      after_unknown: change['after_unknown'] ?? {},
    },
  }
}

function outputChanges(changes: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(changes).flatMap(([name, change]) =>
      isJsonObject(change)
        ? [[name, { name, change: { ...change, after_unknown: change['after_unknown'] ?? false } }]]
        : [],
    ),
  )
}

/** The prior state of the plan. */
function stateView(document: JsonObject): JsonObject {
  const prior = getObject(document, 'prior_state')
  const values = getObject(prior, 'values')
  return {
    ...toolVersions(prior),
    resources: resourceValues(values),
    outputs: outputValues(values),
  }
}

function outputValues(values: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(getObject(values, 'outputs')).flatMap(([name, output]) =>
      isJsonObject(output)
        ? [
            [
              name,
              { name, sensitive: output['sensitive'] === true, value: output['value'] ?? null },
            ],
          ]
        : [],
    ),
  )
}

function resourceValues(values: JsonObject): JsonObject {
  return Object.fromEntries(
    collectResources(getObject(values, 'root_module'), 'child_modules').map(
      ({ module, resource }) => {
        const deposed = getString(resource, 'deposed_key')
        const address = getString(resource, 'address')
        const view = {
          address,
          module_address: module,
          mode: getString(resource, 'mode'),
          type: getString(resource, 'type'),
          name: getString(resource, 'name'),
          index: resource['index'] ?? null,
          provider_name: getString(resource, 'provider_name'),
          values: resource['values'] ?? {},
          depends_on: getList(resource, 'depends_on'),
          tainted: resource['tainted'] === true,
          deposed_key: deposed,
        }
        return [deposed === '' ? address : `${address}:${deposed}`, view]
      },
    ),
  )
}
