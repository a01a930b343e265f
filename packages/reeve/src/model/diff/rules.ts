import type {
  Affinity,
  CheckRestart,
  CniConfig,
  Constraint,
  DnsConfig,
  NetworkResource,
  Port,
  Service,
  ServiceCheck,
  ServiceWeights,
  Spread,
  SpreadTarget,
  WorkloadIdentity,
} from '@reeve/contract'

/**
 * Rules for comparing the properties of one record. A property without a rule does not compile, so
 * that no new job field is omitted from the diff.
 */
export type Rules = Readonly<Record<string, Rule>>

type Rule =
  /** One value: a field. */
  | 'field'
  /** A string map: a field per key, named `Meta[key]`. */
  | 'entries'
  /** Set by servers, or a copy of a compared property. */
  | 'unseen'
  /** Groups of a job and tasks of a group, which have their own structure in the diff. */
  | 'nested'
  | TextsRule
  | TreeRule
  | ObjectRule
  | ObjectsRule

export interface TextsRule {
  readonly kind: 'texts'
  /** Whether a different order of the same texts is a change. */
  readonly ordered: boolean
}

/** A structure without a schema: a field per leaf. */
interface TreeRule {
  readonly kind: 'tree'
}

interface ObjectRule {
  readonly kind: 'object'
  readonly rules: Rules
}

export interface ObjectsRule {
  readonly kind: 'objects'
  /** Name of an object in the diff. */
  readonly name: string
  readonly rules: Rules
  /** Returns the key that matches objects before and after. */
  readonly keyOf: KeyOf
}

type KeyOf = (entry: object) => string

type Scalar = string | number | boolean | null
type RuleOf<V> = [V] extends [Scalar] ? 'field' | 'unseen' : Exclude<Rule, 'field'>

/** Declares the rules of one record type. */
export function rulesOf<T>(rules: { readonly [K in keyof T]-?: RuleOf<T[K]> }): Rules {
  return rules
}

/** Texts without significant order. */
export const stringSet: TextsRule = { kind: 'texts', ordered: false }

/** Texts with significant order, such as the arguments of a command. */
export const stringList: TextsRule = { kind: 'texts', ordered: true }

export const treeRule: TreeRule = { kind: 'tree' }

/** A nested record, named like its property. */
export function objectRule(rules: Rules): ObjectRule {
  return { kind: 'object', rules }
}

/** Records of one type, in a list or a map. */
export function objectsRule(name: string, rules: Rules, keyOf: KeyOf): ObjectsRule {
  return { kind: 'objects', name, rules, keyOf }
}

/** Uses one property as the key. */
export function byField(name: string): KeyOf {
  return (entry) => String(Reflect.get(entry, name))
}

/** Uses the whole content as the key: a record with different content is another one. */
const byContent: KeyOf = (entry) => JSON.stringify(entry)

/** Uses a constant key, for collections that usually have one entry. */
const anyEntry: KeyOf = () => ''

const CONSTRAINT = rulesOf<Constraint>({ LTarget: 'field', RTarget: 'field', Operand: 'field' })

const AFFINITY = rulesOf<Affinity>({
  LTarget: 'field',
  RTarget: 'field',
  Operand: 'field',
  Weight: 'field',
})

const SPREAD = rulesOf<Spread>({
  Attribute: 'field',
  Weight: 'field',
  SpreadTarget: objectsRule(
    'SpreadTarget',
    rulesOf<SpreadTarget>({ Value: 'field', Percent: 'field' }),
    byField('Value'),
  ),
})

export const constraints = objectsRule('Constraint', CONSTRAINT, byContent)
export const affinities = objectsRule('Affinity', AFFINITY, byContent)
export const spreads = objectsRule('Spread', SPREAD, byField('Attribute'))

const STATIC_PORT = rulesOf<Port>({
  Label: 'field',
  Value: 'field',
  To: 'field',
  HostNetwork: 'field',
  IgnoreCollision: 'field',
})
/** The number of a dynamic port is assigned by the scheduler. */
const DYNAMIC_PORT: Rules = { ...STATIC_PORT, Value: 'unseen' }

/** Device and addresses are set by the node. */
const NETWORK = rulesOf<NetworkResource>({
  Mode: 'field',
  Device: 'unseen',
  CIDR: 'unseen',
  IP: 'unseen',
  Hostname: 'field',
  MBits: 'field',
  // Resolvers are tried in order, so their order matters.
  DNS: objectRule(
    rulesOf<DnsConfig>({ Servers: stringList, Searches: stringList, Options: stringList }),
  ),
  ReservedPorts: objectsRule('Static Port', STATIC_PORT, byField('Label')),
  DynamicPorts: objectsRule('Dynamic Port', DYNAMIC_PORT, byField('Label')),
  CNI: objectRule(rulesOf<CniConfig>({ Args: 'entries' })),
})

export const networks = objectsRule('Network', NETWORK, anyEntry)

export const IDENTITY = rulesOf<WorkloadIdentity>({
  Name: 'field',
  Audience: stringSet,
  ChangeMode: 'field',
  ChangeSignal: 'field',
  Env: 'field',
  File: 'field',
  Filepath: 'field',
  ServiceName: 'field',
  TTL: 'field',
})

const CHECK = rulesOf<ServiceCheck>({
  Name: 'field',
  Type: 'field',
  Command: 'field',
  Args: stringList,
  Path: 'field',
  Protocol: 'field',
  PortLabel: 'field',
  Expose: 'field',
  AddressMode: 'field',
  Interval: 'field',
  Timeout: 'field',
  InitialStatus: 'field',
  Method: 'field',
  Header: treeRule,
  Body: 'field',
  TLSServerName: 'field',
  TLSSkipVerify: 'field',
  CheckRestart: objectRule(
    rulesOf<CheckRestart>({ Limit: 'field', Grace: 'field', IgnoreWarnings: 'field' }),
  ),
  GRPCService: 'field',
  GRPCUseTLS: 'field',
  TaskName: 'field',
  SuccessBeforePassing: 'field',
  FailuresBeforeCritical: 'field',
  FailuresBeforeWarning: 'field',
  Notes: 'field',
  OnUpdate: 'field',
})

const SERVICE = rulesOf<Service>({
  Name: 'field',
  TaskName: 'field',
  PortLabel: 'field',
  AddressMode: 'field',
  Address: 'field',
  Tags: stringSet,
  CanaryTags: stringSet,
  EnableTagOverride: 'field',
  CheckRestart: 'unseen',
  Checks: objectsRule('Check', CHECK, byField('Name')),
  Meta: 'entries',
  CanaryMeta: 'entries',
  TaggedAddresses: 'entries',
  Namespace: 'field',
  OnUpdate: 'field',
  Provider: 'field',
  Cluster: 'field',
  Connect: treeRule,
  Weights: objectRule(rulesOf<ServiceWeights>({ Passing: 'field', Warning: 'field' })),
  Identity: objectRule(IDENTITY),
  Kind: 'field',
})

export const services = objectsRule('Service', SERVICE, byField('Name'))
