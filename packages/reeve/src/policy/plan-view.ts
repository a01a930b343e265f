import { addressesOf, configOf } from './plan-configuration.ts'
import type { PlainObject } from './subject.ts'
import { isPlainObject, listIn, objectIn, textIn } from './plain.ts'
import type { JsonValue } from '@reeve/native-policy'

/** The collections of a plan by address, as native policies read them. */
export interface PlanViews {
  readonly plan: () => PlainObject
  readonly state: () => PlainObject
  readonly config: () => PlainObject
}

/** Each view is made when a policy first asks for it, and shared by all policies of a run. */
export function planViews(document: PlainObject): PlanViews {
  return {
    plan: once(() => planOf(document)),
    state: once(() => stateOf(document)),
    config: once(() => configOf(document)),
  }
}

function once(make: () => PlainObject): () => PlainObject {
  let made: PlainObject | undefined
  return () => (made ??= make())
}

function planOf(document: PlainObject): PlainObject {
  const planned = objectIn(document, 'planned_values')
  return {
    ...toolVersions(document),
    variables: named(objectIn(document, 'variables')),
    planned_values: { resources: resourcesOf(planned), outputs: outputsOf(planned) },
    resource_changes: changesOf(listIn(document, 'resource_changes')),
    resource_drift: changesOf(listIn(document, 'resource_drift')),
    output_changes: outputChanges(objectIn(document, 'output_changes')),
    raw: document,
  }
}

/** The version of the tool that made the plan has the tool's own name and is passed on as it is. */
function toolVersions(document: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(document).filter(
      ([name, value]) =>
        name !== 'format_version' && name.endsWith('_version') && typeof value === 'string',
    ),
  )
}

function named(values: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      { name, value: isPlainObject(value) ? (value['value'] ?? null) : null },
    ]),
  )
}

function changesOf(changes: readonly JsonValue[]): PlainObject {
  return Object.fromEntries(
    changes.filter(isPlainObject).map((change) => {
      const address = textIn(change, 'address')
      const deposed = textIn(change, 'deposed')
      return [deposed === '' ? address : `${address}:${deposed}`, changeOf(change)]
    }),
  )
}

function changeOf(entry: PlainObject): PlainObject {
  const change = objectIn(entry, 'change')
  return {
    address: textIn(entry, 'address'),
    module_address: textIn(entry, 'module_address'),
    mode: textIn(entry, 'mode'),
    type: textIn(entry, 'type'),
    name: textIn(entry, 'name'),
    index: entry['index'] ?? null,
    provider_name: textIn(entry, 'provider_name'),
    deposed: textIn(entry, 'deposed'),
    change: {
      actions: listIn(change, 'actions'),
      before: change['before'] ?? null,
      after: change['after'] ?? null,
      after_unknown: change['after_unknown'] ?? {},
    },
  }
}

function outputChanges(changes: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(changes).flatMap(([name, change]) =>
      isPlainObject(change)
        ? [[name, { name, change: { ...change, after_unknown: change['after_unknown'] ?? false } }]]
        : [],
    ),
  )
}

/** The prior state of the plan. */
function stateOf(document: PlainObject): PlainObject {
  const prior = objectIn(document, 'prior_state')
  const values = objectIn(prior, 'values')
  return { ...toolVersions(prior), resources: resourcesOf(values), outputs: outputsOf(values) }
}

function outputsOf(values: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(objectIn(values, 'outputs')).flatMap(([name, output]) =>
      isPlainObject(output)
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

function resourcesOf(values: PlainObject): PlainObject {
  return Object.fromEntries(
    addressesOf(objectIn(values, 'root_module'), 'child_modules').map(({ module, resource }) => {
      const deposed = textIn(resource, 'deposed_key')
      const address = textIn(resource, 'address')
      const shown = {
        address,
        module_address: module,
        mode: textIn(resource, 'mode'),
        type: textIn(resource, 'type'),
        name: textIn(resource, 'name'),
        index: resource['index'] ?? null,
        provider_name: textIn(resource, 'provider_name'),
        values: resource['values'] ?? {},
        depends_on: listIn(resource, 'depends_on'),
        tainted: resource['tainted'] === true,
        deposed_key: deposed,
      }
      return [deposed === '' ? address : `${address}:${deposed}`, shown]
    }),
  )
}
