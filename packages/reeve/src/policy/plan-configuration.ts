import type { JsonValue } from '@reeve/native-policy'
import { isJsonObject, getList, getNumber, getObject, getString } from './plain.ts'
import type { JsonObject } from './subject.ts'

/** Maximum nesting of modules; deeper modules are omitted. */
const MODULE_DEPTH_MAX = 100

interface ModuleResource {
  /** Address of the module; empty for the root. */
  readonly module: string
  readonly resource: JsonObject
}

/** Returns the resources of a module and its descendants ("Values representation"). */
export function collectResources(
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
export function configView(document: JsonObject): JsonObject {
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
