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

/** Permissions of a caller. Everything that is not granted is denied. */
export interface Grants {
  /** All permissions, including the administration of ACLs. */
  readonly isManagement: boolean
  /**
   * Reports whether the namespace grants the capability. `register-job` and the other fine-grained
   * ones are alternatives to `submit-job`; the caller of this method checks for either.
   */
  allows(namespace: string, capability: NamespaceCapability): boolean
  /**
   * Reports whether any namespace rule grants the capability, as needed for lists over all
   * namespaces.
   */
  allowsSomewhere(capability: NamespaceCapability): boolean
  /** Reports whether the namespace grants any capability. */
  seesNamespace(namespace: string): boolean
  node(access: Access): boolean
  agent(access: Access): boolean
  quota(access: Access): boolean
  operator(access: Access | OperatorCapability): boolean
  plugin(access: 'list' | Access): boolean
  nodePool(pool: string, capability: NodePoolCapability): boolean
  /** Reports whether any node pool rule grants the capability. */
  nodePoolSomewhere(capability: NodePoolCapability): boolean
  hostVolume(volume: string, capability: HostVolumeCapability): boolean
  variable(namespace: string, path: string, capability: VariableCapability): boolean
  /**
   * Reports whether a rule for some path of the namespace grants the capability; `*` means any
   * namespace.
   */
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

/** Grants of every request if ACLs are disabled. */
export const ACLS_OFF: Grants = MANAGEMENT

/** Combines the permissions of all documents; their order does not matter. */
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

/** Returns the highest level: deny > write > read > list. `scale` has no effect here. */
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

/** A `deny` among the capabilities acts like the policy `deny`: it revokes all permissions. */
function compileOperator(documents: readonly AclRules[]): Grants['operator'] {
  const rules = documents.flatMap((one) => (one.Operator === null ? [] : [one.Operator]))
  const capabilities = new Set(rules.flatMap((rule) => rule.Capabilities))
  if (capabilities.has('deny')) return () => false
  const level = levelOf(rules.map((rule) => rule.Policy))
  return (wanted) =>
    wanted === 'read' || wanted === 'write' ? level(wanted) : capabilities.has(wanted)
}

/**
 * Separator that no namespace or path contains, so a wildcard in one part cannot match the other.
 */
const SEPARATOR = '\u0000'

/** Looks up namespace and path as one joined text. */
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

/** For lists and streams over many paths; each path is checked separately afterwards. */
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
