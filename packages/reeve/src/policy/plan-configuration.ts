import type { JsonValue } from '@reeve/native-policy'
import { isPlainObject, listIn, numberIn, objectIn, textIn } from './plain.ts'
import type { PlainObject } from './subject.ts'

/** Modules inside one another; a plan that goes deeper is cut there. */
const MODULE_DEPTH_MAX = 100

interface Addressed {
  /** Address of the module; empty for the root. */
  readonly module: string
  readonly resource: PlainObject
}

/** The resources of a module and of those below it ("Values representation"). */
export function addressesOf(
  module: PlainObject,
  children: string,
  depth = 0,
): readonly Addressed[] {
  const address = textIn(module, 'address')
  const own = listIn(module, 'resources')
    .filter(isPlainObject)
    .map((resource) => ({ module: address, resource }))
  if (depth >= MODULE_DEPTH_MAX) return own
  const below = listIn(module, children)
    .filter(isPlainObject)
    .flatMap((child) => addressesOf(child, children, depth + 1))
  return [...own, ...below]
}

interface ConfiguredModule {
  readonly address: string
  readonly module: PlainObject
}

/** `config/v2`: every collection over all modules, by unexpanded address. */
export function configOf(document: PlainObject): PlainObject {
  const configuration = objectIn(document, 'configuration')
  const modules = modulesOf('', objectIn(configuration, 'root_module'), 0)
  const resources = modules.flatMap(resourcesIn)
  return {
    providers: providersOf(objectIn(configuration, 'provider_config')),
    resources: Object.fromEntries(
      resources.map((resource) => [textIn(resource, 'address'), resource]),
    ),
    provisioners: Object.fromEntries(
      resources
        .flatMap((resource) => listIn(resource, 'provisioners'))
        .filter(isPlainObject)
        .map((one) => [`${textIn(one, 'resource_address')}:${numberIn(one, 'index')}`, one]),
    ),
    variables: Object.fromEntries(modules.flatMap(variablesIn)),
    outputs: Object.fromEntries(modules.flatMap(outputsIn)),
    module_calls: Object.fromEntries(modules.flatMap(callsIn)),
  }
}

function modulesOf(
  address: string,
  module: PlainObject,
  depth: number,
): readonly ConfiguredModule[] {
  if (depth > MODULE_DEPTH_MAX) return []
  const below = Object.entries(objectIn(module, 'module_calls')).flatMap(([name, call]) =>
    isPlainObject(call)
      ? modulesOf(joined(address, `module.${name}`), objectIn(call, 'module'), depth + 1)
      : [],
  )
  return [{ address, module }, ...below]
}

function joined(module: string, address: string): string {
  return module === '' ? address : `${module}.${address}`
}

function keyed(module: string, name: string): string {
  return module === '' ? name : `${module}:${name}`
}

function providersOf(providers: PlainObject): PlainObject {
  return Object.fromEntries(
    Object.entries(providers).flatMap(([key, provider]) =>
      isPlainObject(provider)
        ? [
            [
              key,
              {
                provider_config_key: key,
                name: textIn(provider, 'name'),
                full_name: textIn(provider, 'full_name'),
                alias: textIn(provider, 'alias'),
                module_address: textIn(provider, 'module_address'),
                config: provider['expressions'] ?? {},
                version_constraint: textIn(provider, 'version_constraint'),
              },
            ],
          ]
        : [],
    ),
  )
}

function resourcesIn({
  address: module,
  module: content,
}: ConfiguredModule): readonly PlainObject[] {
  return listIn(content, 'resources')
    .filter(isPlainObject)
    .map((resource) => {
      const address = joined(module, textIn(resource, 'address'))
      return {
        address,
        module_address: module,
        mode: textIn(resource, 'mode'),
        type: textIn(resource, 'type'),
        name: textIn(resource, 'name'),
        provider_config_key: textIn(resource, 'provider_config_key'),
        provisioners: provisionersOf(address, listIn(resource, 'provisioners')),
        config: resource['expressions'] ?? {},
        count: resource['count_expression'] ?? {},
        for_each: resource['for_each_expression'] ?? {},
        depends_on: listIn(resource, 'depends_on'),
      }
    })
}

function provisionersOf(
  address: string,
  provisioners: readonly JsonValue[],
): readonly PlainObject[] {
  return provisioners.filter(isPlainObject).map((provisioner, index) => ({
    resource_address: address,
    type: textIn(provisioner, 'type'),
    index,
    config: provisioner['expressions'] ?? {},
  }))
}

type Entry = readonly [string, PlainObject]

function variablesIn({ address, module }: ConfiguredModule): readonly Entry[] {
  return entriesIn(module, 'variables').map(([name, variable]) => [
    keyed(address, name),
    {
      module_address: address,
      name,
      default: variable['default'] ?? null,
      description: textIn(variable, 'description'),
    },
  ])
}

function outputsIn({ address, module }: ConfiguredModule): readonly Entry[] {
  return entriesIn(module, 'outputs').map(([name, output]) => [
    keyed(address, name),
    {
      module_address: address,
      name,
      sensitive: output['sensitive'] === true,
      value: output['expression'] ?? {},
      description: textIn(output, 'description'),
      depends_on: listIn(output, 'depends_on'),
    },
  ])
}

function callsIn({ address, module }: ConfiguredModule): readonly Entry[] {
  return entriesIn(module, 'module_calls').map(([name, call]) => [
    keyed(address, name),
    {
      module_address: address,
      name,
      source: textIn(call, 'source'),
      config: call['expressions'] ?? {},
      count: call['count_expression'] ?? {},
      depends_on: listIn(call, 'depends_on'),
      for_each: call['for_each_expression'] ?? {},
      version_constraint: textIn(call, 'version_constraint'),
    },
  ])
}

function entriesIn(module: PlainObject, collection: string): readonly Entry[] {
  return Object.entries(objectIn(module, collection)).flatMap(([name, value]): Entry[] =>
    isPlainObject(value) ? [[name, value]] : [],
  )
}

/** Removes every `[…]` index from an address; brackets may hold quoted text with brackets. */
export function stripIndex(address: string): string {
  return address.replace(/\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\]/g, '')
}
