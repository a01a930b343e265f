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
import type { ServiceName, VariableItems } from '../catalog.ts'
import type { NodeFacts } from '../node-facts.ts'
import { nodeLookup } from '../task/node-lookup.ts'
import type { Dependency } from './dependencies.ts'

/** What the functions of a rendering know of the world outside. */
export interface TemplateInputs {
  readonly env: Readonly<Record<string, string>>
  readonly node: NodeFacts
  readonly namespace: string
  readonly nowMs: number
  /**
   * The answer of the catalog, which has the shape of its topic; null while it is not known, and
   * for a variable that does not exist. `waits`: the rendering needs one that exists.
   */
  find(topic: Dependency['topic'], name: string, waits: boolean): unknown
  /** The text of a file in the task's directory; undefined while it is not known. */
  file(path: string): string | undefined
}

/** All functions that a template of a task may call. */
export function taskFunctions(inputs: TemplateInputs): TemplateFunctions {
  const own = ownFunctions(inputs)
  return new Map([
    ...GO_FUNCTIONS,
    ...HELPER_FUNCTIONS,
    ...timeFunctions(inputs.nowMs),
    ...own,
    ...otherNames(own, inputs.node.aliases?.templateFunctions ?? {}),
    ...functionTable(
      DENIED.map((name) => [name, constantCost, () => failTemplate('function is disabled')]),
    ),
  ])
}

/** The same functions under the names that other template languages have for them. */
function otherNames(
  own: TemplateFunctions,
  names: Readonly<Record<string, string>>,
): TemplateFunctions {
  return new Map(
    Object.entries(names).flatMap(([other, name]) => {
      const called = own.get(name)
      return called === undefined ? [] : [[other, called] as const]
    }),
  )
}

/** They would run programs, or write elsewhere. Named so that the refusal says so. */
const DENIED = ['plugin', 'executeTemplate', 'writeToFile'] as const

function ownFunctions(inputs: TemplateInputs): TemplateFunctions {
  const nodeValue = nodeLookup(inputs.node)
  const variableOf = (value: TemplateValue): string | undefined => {
    const name = text(value)
    return Object.hasOwn(inputs.env, name) ? inputs.env[name] : nodeValue(name)
  }
  const directories = inputs.node.aliases?.variableDirectories ?? {}
  const pathOf = (value: TemplateValue): string => canonicalPath(directories, text(value))
  return functionTable([
    ['env', textCost, (name) => variableOf(name) ?? ''],
    ['envOrDefault', textCost, (name, fallback) => variableOf(name) || text(fallback)],
    ['mustEnv', textCost, (name) => variableOf(name) ?? failTemplate(`${text(name)} is not set`)],
    ['file', textCost, (path) => inputs.file(text(path)) ?? ''],
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
  // The answer of this topic (Catalog.watchServices), written and read by this program only.
  const found = inputs.find('services', '', false) as readonly ServiceName[] | null
  return (found ?? []).map(({ name, tags }) => new StructValue({ Name: name, Tags: tags }))
}

function variableItems(inputs: TemplateInputs, path: string, waits: boolean): VariableItems | null {
  // The answer of this topic (Catalog.watchVariable).
  return inputs.find('variable', path, waits) as VariableItems | null
}

function variablePaths(inputs: TemplateInputs, prefix: string): TemplateValue {
  // The answer of this topic (Catalog.watchVariables).
  const paths = inputs.find('variables', prefix, false) as readonly string[] | null
  return (paths ?? []).map((Path) => new StructValue({ Path, Namespace: inputs.namespace }))
}

function text(value: TemplateValue): string {
  return typeof value === 'string' ? value : failTemplate('a text is wanted')
}

/**
 * `service "name"`, `service "tag.name"`, or `service N "key" "name"`: those N of the instances
 * that the key chooses, and each key mostly the same ones while instances come and go.
 */
function findServices(inputs: TemplateInputs, args: readonly TemplateValue[]): TemplateValue {
  const [first, key, last] = args
  const isChoice = args.length === 3
  if (args.length !== 1 && !isChoice) return failTemplate('one or three arguments are wanted')
  const query = text(isChoice ? last : first)
  const dot = query.lastIndexOf('.')
  const tag = dot < 0 ? undefined : query.slice(0, dot)
  const name = query.slice(dot + 1)
  // The answer of this topic (Catalog.watchService).
  const answer = inputs.find('service', name, false) as readonly ServiceRegistration[] | null
  const found = answer ?? []
  const tagged = found.filter(({ Tags }) => tag === undefined || (Tags ?? []).includes(tag))
  const sorted = tagged.toSorted((a, b) => (a.ID < b.ID ? -1 : 1))
  if (!isChoice) return sorted.map(toValue)
  if (typeof first !== 'bigint') return failTemplate('the number of instances is wanted first')
  return chosen(sorted, text(key)).slice(0, Number(first)).map(toValue)
}

/** Rendezvous: each instance draws a number with the key, and the highest win. */
function chosen(
  services: readonly ServiceRegistration[],
  key: string,
): readonly ServiceRegistration[] {
  const drawn = services.map((service) => {
    const draw = createHash('sha256').update(`${key}\0${service.ID}`).digest('hex')
    return { service, draw }
  })
  return drawn.toSorted((a, b) => (a.draw < b.draw ? 1 : -1)).map(({ service }) => service)
}

function toValue(service: ServiceRegistration): TemplateValue {
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
