import type { JsonObject } from './policy-input.ts'
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

/** Maximum nesting of modules; deeper modules are omitted. */
const MODULE_DEPTH_MAX = 100

interface ModuleResource {
  /** Address of the module; empty for the root. */
  readonly module: string
  readonly resource: JsonObject
}

/** Returns the resources of a module and its descendants ("Values representation"). */
function collectResources(
  module: JsonObject,
  children: string,
  depth = 0,
): readonly ModuleResource[] {
  const address = getString(module, 'address')
  const ownResources = getList(module, 'resources')
    .filter(isJsonObject)
    .map((resource) => ({ module: address, resource }))
  if (depth >= MODULE_DEPTH_MAX) return ownResources
  const nested = getList(module, children)
    .filter(isJsonObject)
    .flatMap((child) => collectResources(child, children, depth + 1))
  return [...ownResources, ...nested]
}

interface ConfiguredModule {
  readonly address: string
  readonly module: JsonObject
}

/** Returns `config/v2`: each collection over all modules, by unexpanded address. */
function configView(document: JsonObject): JsonObject {
  const configuration = getObject(document, 'configuration')
  const modules = collectModules('', getObject(configuration, 'root_module'), 0)
  const resources = modules.flatMap(resourcesView)
  return {
    providers: providersView(getObject(configuration, 'provider_config')),
    resources: Object.fromEntries(
      resources.map((resource) => [getString(resource, 'address'), resource]),
    ),
    provisioners: Object.fromEntries(
      resources
        .flatMap((resource) => getList(resource, 'provisioners'))
        .filter(isJsonObject)
        .map((one) => [`${getString(one, 'resource_address')}:${getNumber(one, 'index')}`, one]),
    ),
    variables: Object.fromEntries(modules.flatMap(variablesView)),
    outputs: Object.fromEntries(modules.flatMap(outputsView)),
    module_calls: Object.fromEntries(modules.flatMap(moduleCallsView)),
  }
}

function collectModules(
  address: string,
  module: JsonObject,
  depth: number,
): readonly ConfiguredModule[] {
  if (depth > MODULE_DEPTH_MAX) return []
  const nested = Object.entries(getObject(module, 'module_calls')).flatMap(([name, call]) =>
    isJsonObject(call)
      ? collectModules(joinAddress(address, `module.${name}`), getObject(call, 'module'), depth + 1)
      : [],
  )
  return [{ address, module }, ...nested]
}

function joinAddress(module: string, address: string): string {
  return module === '' ? address : `${module}.${address}`
}

function moduleKey(module: string, name: string): string {
  return module === '' ? name : `${module}:${name}`
}

function providersView(providers: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(providers).flatMap(([key, provider]) =>
      isJsonObject(provider)
        ? [
            [
              key,
              {
                provider_config_key: key,
                name: getString(provider, 'name'),
                full_name: getString(provider, 'full_name'),
                alias: getString(provider, 'alias'),
                module_address: getString(provider, 'module_address'),
                config: provider['expressions'] ?? {},
                version_constraint: getString(provider, 'version_constraint'),
              },
            ],
          ]
        : [],
    ),
  )
}

function resourcesView({
  address: module,
  module: content,
}: ConfiguredModule): readonly JsonObject[] {
  return getList(content, 'resources')
    .filter(isJsonObject)
    .map((resource) => {
      const address = joinAddress(module, getString(resource, 'address'))
      return {
        address,
        module_address: module,
        mode: getString(resource, 'mode'),
        type: getString(resource, 'type'),
        name: getString(resource, 'name'),
        provider_config_key: getString(resource, 'provider_config_key'),
        provisioners: provisionersView(address, getList(resource, 'provisioners')),
        config: resource['expressions'] ?? {},
        count: resource['count_expression'] ?? {},
        for_each: resource['for_each_expression'] ?? {},
        depends_on: getList(resource, 'depends_on'),
      }
    })
}

function provisionersView(
  address: string,
  provisioners: readonly JsonValue[],
): readonly JsonObject[] {
  return provisioners.filter(isJsonObject).map((provisioner, index) => ({
    resource_address: address,
    type: getString(provisioner, 'type'),
    index,
    config: provisioner['expressions'] ?? {},
  }))
}

type Entry = readonly [string, JsonObject]

function variablesView({ address, module }: ConfiguredModule): readonly Entry[] {
  return objectEntries(module, 'variables').map(([name, variable]) => [
    moduleKey(address, name),
    {
      module_address: address,
      name,
      default: variable['default'] ?? null,
      description: getString(variable, 'description'),
    },
  ])
}

function outputsView({ address, module }: ConfiguredModule): readonly Entry[] {
  return objectEntries(module, 'outputs').map(([name, output]) => [
    moduleKey(address, name),
    {
      module_address: address,
      name,
      sensitive: output['sensitive'] === true,
      value: output['expression'] ?? {},
      description: getString(output, 'description'),
      depends_on: getList(output, 'depends_on'),
    },
  ])
}

function moduleCallsView({ address, module }: ConfiguredModule): readonly Entry[] {
  return objectEntries(module, 'module_calls').map(([name, call]) => [
    moduleKey(address, name),
    {
      module_address: address,
      name,
      source: getString(call, 'source'),
      config: call['expressions'] ?? {},
      count: call['count_expression'] ?? {},
      depends_on: getList(call, 'depends_on'),
      for_each: call['for_each_expression'] ?? {},
      version_constraint: getString(call, 'version_constraint'),
    },
  ])
}

function objectEntries(module: JsonObject, collection: string): readonly Entry[] {
  return Object.entries(getObject(module, collection)).flatMap(([name, value]): Entry[] =>
    isJsonObject(value) ? [[name, value]] : [],
  )
}

/** Removes every `[…]` index from an address; brackets may hold quoted text with brackets. */
export function stripIndex(address: string): string {
  return address.replace(/\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\]/g, '')
}

/** Reads members of JSON data; missing members and members of another type are empty. */

function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function getObject(value: JsonObject, name: string): JsonObject {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return isJsonObject(member) ? member : {}
}

function getList(value: JsonObject, name: string): readonly JsonValue[] {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return isJsonList(member) ? member : []
}

function getString(value: JsonObject, name: string): string {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof member === 'string' ? member : ''
}

function getNumber(value: JsonObject, name: string): number {
  const member = Object.hasOwn(value, name) ? value[name] : undefined
  return typeof member === 'number' ? member : 0
}

function isJsonList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
