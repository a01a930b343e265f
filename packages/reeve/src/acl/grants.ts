import type {
  HostVolumeCapability,
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  VariableCapability,
} from '@reeve/contract'
import { matchGlob } from '@reeve/kit/glob.ts'
import { compileLabels, type LabelRule } from './label-lookup.ts'
import type { AclRules, WrittenPolicy } from './rules.ts'

type Access = 'read' | 'write'

/** What a caller may do. Every question is answered by what is granted; nothing is the default. */
export interface Grants {
  /** All rights, and the administration of rights. */
  readonly isManagement: boolean
  /**
   * Whether the capability is held in the namespace. `register-job` and the other fine-grained ones
   * are alternatives to `submit-job`: a caller of this asks for either.
   */
  allows(namespace: string, capability: NamespaceCapability): boolean
  /** Whether any rule holds the capability: what a list over all of them needs. */
  allowsSomewhere(capability: NamespaceCapability): boolean
  /** Whether any capability is held in the namespace. */
  seesNamespace(namespace: string): boolean
  node(access: Access): boolean
  agent(access: Access): boolean
  quota(access: Access): boolean
  operator(access: Access | OperatorCapability): boolean
  plugin(access: 'list' | Access): boolean
  nodePool(pool: string, capability: NodePoolCapability): boolean
  /** Whether any rule for node pools holds the capability. */
  nodePoolSomewhere(capability: NodePoolCapability): boolean
  hostVolume(volume: string, capability: HostVolumeCapability): boolean
  variable(namespace: string, path: string, capability: VariableCapability): boolean
  /** Whether a rule for some path of the namespace, or of any with `*`, holds the capability. */
  variableSomewhere(namespace: string, capability: VariableCapability): boolean
}

const always = (): boolean => true

export const MANAGEMENT: Grants = {
  isManagement: true,
  allows: always,
  allowsSomewhere: always,
  seesNamespace: always,
  node: always,
  agent: always,
  quota: always,
  operator: always,
  plugin: always,
  nodePool: always,
  nodePoolSomewhere: always,
  hostVolume: always,
  variable: always,
  variableSomewhere: always,
}

/** With ACLs off every request has all rights. */
export const ACLS_OFF: Grants = MANAGEMENT

/** The rights that the documents give together, in any order (combination). */
export function compileGrants(documents: readonly AclRules[]): Grants {
  const namespaces = compileLabels(
    documents.flatMap((rules) => (rules.Namespaces ?? []).map(asLabelRule)),
  )
  const pools = compileLabels(
    documents.flatMap((rules) => (rules.NodePools ?? []).map(asLabelRule)),
  )
  const volumes = compileLabels(
    documents.flatMap((rules) => (rules.HostVolumes ?? []).map(asLabelRule)),
  )
  return {
    isManagement: false,
    allows: (namespace, capability) => namespaces.of(namespace).has(capability),
    allowsSomewhere: (capability) => namespaces.anywhere(capability),
    seesNamespace: (namespace) => namespaces.of(namespace).size > 0,
    node: levelOf(documents.map((rules) => rules.Node?.Policy)),
    agent: levelOf(documents.map((rules) => rules.Agent?.Policy)),
    quota: levelOf(documents.map((rules) => rules.Quota?.Policy)),
    plugin: levelOf(documents.map((rules) => rules.Plugin?.Policy)),
    operator: compileOperator(documents),
    nodePool: (pool, capability) => pools.of(pool).has(capability),
    nodePoolSomewhere: (capability) => pools.anywhere(capability),
    hostVolume: (volume, capability) => volumes.of(volume).has(capability),
    variable: compileVariables(documents),
    variableSomewhere: compileVariablesSomewhere(documents),
  }
}

function asLabelRule<C extends string>(rule: {
  readonly Name: string
  readonly Capabilities: readonly C[]
}): LabelRule<C> {
  return { label: rule.Name, capabilities: rule.Capabilities }
}

const STRENGTH = { list: 1, read: 2, write: 3 } as const

/** Deny > write > read > list. `scale` means nothing here. */
function levelOf(
  policies: readonly (WrittenPolicy | undefined)[],
): (access: keyof typeof STRENGTH) => boolean {
  let strength = 0
  for (const policy of policies)
    if (policy === 'list' || policy === 'read' || policy === 'write')
      strength = Math.max(strength, STRENGTH[policy])
  if (policies.includes('deny')) strength = 0
  return (access) => STRENGTH[access] <= strength
}

/** A `deny` among the capabilities is as good as the policy `deny`: no right is left standing. */
function compileOperator(documents: readonly AclRules[]): Grants['operator'] {
  const rules = documents.flatMap((one) => (one.Operator === null ? [] : [one.Operator]))
  const capabilities = new Set(rules.flatMap((rule) => rule.Capabilities))
  if (capabilities.has('deny')) return () => false
  const level = levelOf(rules.map((rule) => rule.Policy))
  return (wanted) =>
    wanted === 'read' || wanted === 'write' ? level(wanted) : capabilities.has(wanted)
}

/** No namespace and no path holds it, so a star of one part cannot be seen in the other. */
const SEPARATOR = '\u0000'

/** Looked up as one text of namespace and path. */
function compileVariables(documents: readonly AclRules[]): Grants['variable'] {
  const rules = documents.flatMap((one) => one.Namespaces ?? [])
  const lookup = compileLabels(
    rules.flatMap((rule) =>
      (rule.Variables?.Paths ?? []).map(({ PathSpec, Capabilities }) => ({
        label: `${rule.Name}${SEPARATOR}${PathSpec}`,
        capabilities: Capabilities,
      })),
    ),
  )
  return (namespace, path, capability) =>
    !namespace.includes(SEPARATOR) &&
    !path.includes(SEPARATOR) &&
    lookup.of(`${namespace}${SEPARATOR}${path}`).has(capability)
}

/** What a list or a stream over many paths needs; each path is asked for again. */
function compileVariablesSomewhere(documents: readonly AclRules[]): Grants['variableSomewhere'] {
  const rules = documents.flatMap((one) => one.Namespaces ?? [])
  return (namespace, capability) =>
    rules.some(
      ({ Name, Variables }) =>
        (namespace === '*' || Name === namespace || matchGlob(Name, namespace)) &&
        (Variables?.Paths ?? []).some(
          ({ Capabilities }) => Capabilities.includes(capability) && !Capabilities.includes('deny'),
        ),
    )
}

export const NOTHING: Grants = compileGrants([])
