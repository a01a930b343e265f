import { createHash } from 'node:crypto'
import type { ServiceRegistration } from '@reeve/contract'
import {
  constantCost,
  failTemplate,
  fromPlain,
  functionTable,
  GO_FUNCTIONS,
  HELPER_FUNCTIONS,
  StructValue,
  textCost,
  timeFunctions,
  type TemplateFunctions,
  type TemplateValue,
} from '@reeve/go-template'
import { canonicalPath } from '../../compat/index.ts'
import type { ServiceName, VariableItems } from '../services/catalog-client.ts'
import { newNodeAttributeLookup, type NodeInfo } from '../node-info.ts'
import type { Dependency } from './dependencies.ts'

/** Input of template functions. */
export interface TemplateInputs {
  readonly env: Readonly<Record<string, string>>
  readonly node: NodeInfo
  readonly namespace: string
  readonly nowMs: number
  /**
   * Value from the catalog in the form of its topic; null if not known yet or if a variable does
   * not exist. `waits`: the rendering requires that it exists.
   */
  lookUp(topic: Dependency['topic'], name: string, waits: boolean): unknown
  /** Content of a file in the task's directory; undefined if not known. */
  includeFile(path: string): string | undefined
}

/** All functions for templates of a task. */
export function taskFunctions(inputs: TemplateInputs): TemplateFunctions {
  const builtIns = builtInFunctions(inputs)
  return new Map([
    ...GO_FUNCTIONS,
    ...HELPER_FUNCTIONS,
    ...timeFunctions(inputs.nowMs),
    ...builtIns,
    ...aliasedFunctions(builtIns, inputs.node.aliases?.templateFunctions ?? {}),
    ...functionTable(
      DISABLED_FUNCTIONS.map((name) => [
        name,
        constantCost,
        () => failTemplate('function is disabled'),
      ]),
    ),
  ])
}

/** The same functions under the names of other template languages. */
function aliasedFunctions(
  functions: TemplateFunctions,
  names: Readonly<Record<string, string>>,
): TemplateFunctions {
  return new Map(
    Object.entries(names).flatMap(([other, name]) => {
      const aliased = functions.get(name)
      return aliased === undefined ? [] : [[other, aliased] as const]
    }),
  )
}

/** Disabled functions, which would run programs or write other files. Listed for a clear error. */
const DISABLED_FUNCTIONS = ['plugin', 'executeTemplate', 'writeToFile'] as const

function builtInFunctions(inputs: TemplateInputs): TemplateFunctions {
  const nodeValue = newNodeAttributeLookup(inputs.node)
  const variableOf = (value: TemplateValue): string | undefined => {
    const name = requireString(value)
    return Object.hasOwn(inputs.env, name) ? inputs.env[name] : nodeValue(name)
  }
  const directories = inputs.node.aliases?.variableDirectories ?? {}
  const pathOf = (value: TemplateValue): string => canonicalPath(directories, requireString(value))
  return functionTable([
    ['env', textCost, (name) => variableOf(name) ?? ''],
    ['envOrDefault', textCost, (name, fallback) => variableOf(name) || requireString(fallback)],
    [
      'mustEnv',
      textCost,
      (name) => variableOf(name) ?? failTemplate(`${requireString(name)} is not set`),
    ],
    ['file', textCost, (path) => inputs.includeFile(requireString(path)) ?? ''],
    ['service', textCost, (...args) => findServices(inputs, args)],
    ['services', constantCost, () => serviceNames(inputs)],
    ['variable', textCost, (path) => fromPlain(variableItems(inputs, pathOf(path), true) ?? {})],
    ['variableExists', textCost, (path) => variableItems(inputs, pathOf(path), false) !== null],
    [
      'variableList',
      textCost,
      (prefix) => variablePaths(inputs, prefix === undefined ? '' : pathOf(prefix)),
    ],
  ])
}

function serviceNames(inputs: TemplateInputs): TemplateValue {
  // The answer of this topic (Catalog.watchServiceNames), written and read by this program only.
  const found = inputs.lookUp('services', '', false) as readonly ServiceName[] | null
  return (found ?? []).map(({ name, tags }) => new StructValue({ Name: name, Tags: tags }))
}

function variableItems(inputs: TemplateInputs, path: string, waits: boolean): VariableItems | null {
  // The answer of this topic (Catalog.watchVariable).
  return inputs.lookUp('variable', path, waits) as VariableItems | null
}

function variablePaths(inputs: TemplateInputs, prefix: string): TemplateValue {
  // The answer of this topic (Catalog.watchVariablePaths).
  const paths = inputs.lookUp('variables', prefix, false) as readonly string[] | null
  return (paths ?? []).map((Path) => new StructValue({ Path, Namespace: inputs.namespace }))
}

function requireString(value: TemplateValue): string {
  return typeof value === 'string' ? value : failTemplate('a text is wanted')
}

/**
 * `service "name"`, `service "tag.name"`, or `service N "key" "name"`: N instances chosen by the
 * key, which stay mostly the same while instances come and go.
 */
function findServices(inputs: TemplateInputs, args: readonly TemplateValue[]): TemplateValue {
  const [first, key, last] = args
  const isSubset = args.length === 3
  if (args.length !== 1 && !isSubset) return failTemplate('expected one or three arguments')
  const query = requireString(isSubset ? last : first)
  const dot = query.lastIndexOf('.')
  const tag = dot < 0 ? undefined : query.slice(0, dot)
  const name = query.slice(dot + 1)
  // The answer of this topic (Catalog.watchService).
  const answer = inputs.lookUp('service', name, false) as readonly ServiceRegistration[] | null
  const instances = answer ?? []
  const matching = instances.filter(({ Tags }) => tag === undefined || (Tags ?? []).includes(tag))
  const sorted = matching.toSorted((a, b) => (a.ID < b.ID ? -1 : 1))
  if (!isSubset) return sorted.map(toTemplateValue)
  if (typeof first !== 'bigint') return failTemplate('the number of instances is wanted first')
  return chooseByRendezvous(sorted, requireString(key)).slice(0, Number(first)).map(toTemplateValue)
}

/** Rendezvous hashing: each instance gets a score from the key, and the highest scores win. */
function chooseByRendezvous(
  services: readonly ServiceRegistration[],
  key: string,
): readonly ServiceRegistration[] {
  const scored = services.map((service) => {
    const score = createHash('sha256').update(`${key}\0${service.ID}`).digest('hex')
    return { service, draw: score }
  })
  return scored.toSorted((a, b) => (a.draw < b.draw ? 1 : -1)).map(({ service }) => service)
}

function toTemplateValue(service: ServiceRegistration): TemplateValue {
  const { ID, ServiceName, Address, Port, Tags, JobID, AllocID, NodeID, Datacenter, Namespace } =
    service
  return new StructValue({
    ID,
    Name: ServiceName,
    Address,
    Port: BigInt(Port),
    Tags: Tags ?? [],
    JobID,
    AllocID,
    NodeID,
    Datacenter,
    Namespace,
  })
}
