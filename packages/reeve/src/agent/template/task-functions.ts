import { createHash } from 'node:crypto'
import type { ServiceRegistration } from '@reeve/contract'
import {
  failTemplate,
  fromPlain,
  GO_FUNCTIONS,
  PLAIN_FUNCTIONS,
  StructValue,
  timeFunctions,
  type TemplateFunction,
  type TemplateFunctions,
  type TemplateValue,
} from '../../lang/template/index.ts'
import type { TaskEnvironment } from '../task/environment.ts'
import type { Facts } from './facts.ts'

interface TaskFunctionOptions {
  readonly environment: TaskEnvironment
  readonly namespace: string
  readonly facts: Facts
  readonly nowMs: number
  /** The text of a file in the task's directory; undefined while it is not known. */
  file(path: string): string | undefined
}

/** Reference scheduling §30: everything that a template of a task may call. */
export function taskFunctions(options: TaskFunctionOptions): TemplateFunctions {
  return new Map<string, TemplateFunction>([
    ...GO_FUNCTIONS,
    ...PLAIN_FUNCTIONS,
    ...timeFunctions(options.nowMs),
    ...ownFunctions(options),
    ...DENIED.map((name) => [name, () => failTemplate('function is disabled')] as const),
  ])
}

/** They would run programs, or write elsewhere. Named so that the refusal says so. */
const DENIED = ['plugin', 'executeTemplate', 'writeToFile'] as const

type Entry = readonly [string, TemplateFunction]

function ownFunctions(options: TaskFunctionOptions): readonly Entry[] {
  const { environment, facts } = options
  const variableOf = (name: string): string | undefined => {
    return Object.hasOwn(environment.env, name)
      ? environment.env[name]
      : environment.nodeValue(name)
  }
  const service: TemplateFunction = (...args) => findServices(facts, args)
  const services: TemplateFunction = () => {
    return (facts.services() ?? []).map(
      ({ name, tags }) => new StructValue({ Name: name, Tags: tags }),
    )
  }
  const variable: TemplateFunction = (path) => {
    return fromPlain(facts.variable(text(path), { waits: true }) ?? {})
  }
  const exists: TemplateFunction = (path) => {
    return facts.variable(text(path), { waits: false }) !== undefined
  }
  const listed: TemplateFunction = (prefix) => {
    const paths = facts.variables(prefix === undefined ? '' : text(prefix)) ?? []
    return paths.map((Path) => new StructValue({ Path, Namespace: options.namespace }))
  }
  return [
    ['env', (name) => variableOf(text(name)) ?? ''],
    ['envOrDefault', (name, fallback) => variableOf(text(name)) || text(fallback)],
    ['mustEnv', (name) => variableOf(text(name)) ?? failTemplate(`${text(name)} is not set`)],
    ['file', (path) => options.file(text(path)) ?? ''],
    ['service', service],
    ['services', services],
    ['variable', variable],
    ['variableExists', exists],
    ['variableList', listed],
  ]
}

function text(value: TemplateValue): string {
  return typeof value === 'string' ? value : failTemplate('a text is wanted')
}

/**
 * `service "name"`, `service "tag.name"`, or `service N "key" "name"`: those N of the instances
 * that the key chooses, and each key mostly the same ones while instances come and go.
 */
function findServices(facts: Facts, args: readonly TemplateValue[]): TemplateValue {
  const [first, key, last] = args
  const isChoice = args.length === 3
  if (args.length !== 1 && !isChoice) return failTemplate('one or three arguments are wanted')
  const query = text(isChoice ? last : first)
  const dot = query.lastIndexOf('.')
  const tag = dot < 0 ? undefined : query.slice(0, dot)
  const name = query.slice(dot + 1)
  const found = facts.service(name) ?? []
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
