import type {
  AclPolicyRules,
  NamespaceCapability,
  NodePoolCapability,
  VariableCapability,
} from '@reeve/contract'

/**
 * Permissions of the token, as far as the API reports them. They only disable actions in the UI
 * that the server would reject.
 */
export interface AclPermissions {
  /** ACLs are disabled, or the token is a management token. */
  readonly isUnlimited: boolean
  readonly rules: readonly AclPolicyRules[]
}

export const ALL_PERMISSIONS: AclPermissions = { isUnlimited: true, rules: [] }

/** Permissions of a token that cannot read its own policies. */
export const NO_PERMISSIONS: AclPermissions = { isUnlimited: false, rules: [] }

/** Reports whether the token has one of the capabilities in the namespace. */
export function hasNamespaceCapability(
  permissions: AclPermissions,
  namespace: string,
  capabilities: readonly NamespaceCapability[],
): boolean {
  if (permissions.isUnlimited) return true
  const granted = capabilitiesOn(namespace, permissions.rules.flatMap(namespaceRules))
  return capabilities.some((one) => granted.has(one))
}

/** Reports whether the token has the capability on the pool. */
export function hasPoolCapability(
  permissions: AclPermissions,
  pool: string,
  capability: NodePoolCapability,
): boolean {
  if (permissions.isUnlimited) return true
  const rules = permissions.rules.flatMap(({ NodePools }) => (NodePools ?? []).map(labelRule))
  return capabilitiesOn(pool, rules).has(capability)
}

/** Reports whether the token has the capability on at least one pool. */
export function hasSomePoolCapability(
  permissions: AclPermissions,
  capability: NodePoolCapability,
): boolean {
  if (permissions.isUnlimited) return true
  return permissions.rules.some(({ NodePools }) =>
    (NodePools ?? []).some(({ Capabilities }) => Capabilities.includes(capability)),
  )
}

/** Namespace and path of a variable. */
export interface VariableName {
  readonly namespace: string
  readonly path: string
}

/** Reports whether the token has the capability on the path of the namespace. */
export function hasVariableCapability(
  permissions: AclPermissions,
  { namespace, path }: VariableName,
  capability: VariableCapability,
): boolean {
  if (permissions.isUnlimited) return true
  return capabilitiesOn(`${namespace}${SEPARATOR}${path}`, variableRules(permissions)).has(
    capability,
  )
}

/** Reports whether the token has the capability on at least one path. */
export function hasSomeVariableCapability(
  permissions: AclPermissions,
  capability: VariableCapability,
): boolean {
  if (permissions.isUnlimited) return true
  return variableRules(permissions).some(({ capabilities }) => capabilities.includes(capability))
}

/** Occurs in no namespace or path, so a wildcard of one part cannot match the other. */
const SEPARATOR = '\u0000'

function variableRules({ rules }: AclPermissions): readonly LabelRule[] {
  return rules.flatMap(({ Namespaces }) =>
    (Namespaces ?? []).flatMap(({ Name, Variables }) =>
      (Variables?.Paths ?? []).map(({ PathSpec, Capabilities }) => ({
        label: `${Name}${SEPARATOR}${PathSpec}`,
        capabilities: Capabilities,
      })),
    ),
  )
}

/** A rule for a name or a pattern. */
interface LabelRule {
  readonly label: string
  readonly capabilities: readonly string[]
}

function namespaceRules({ Namespaces }: AclPolicyRules): readonly LabelRule[] {
  return (Namespaces ?? []).map(labelRule)
}

function labelRule(rule: {
  readonly Name: string
  readonly Capabilities: readonly string[]
}): LabelRule {
  return { label: rule.Name, capabilities: rule.Capabilities }
}

/**
 * Returns the granted capabilities. Of all policies, only the rules of the most specific matching
 * label count; one `deny` among them revokes all.
 */
function capabilitiesOn(name: string, rules: readonly LabelRule[]): ReadonlySet<string> {
  const [closest] = rules.filter(({ label }) => matchesPattern(label, name)).toSorted(byCloseness)
  const granted = new Set(
    rules.flatMap(({ label, capabilities }) => (label === closest?.label ? capabilities : [])),
  )
  return granted.has('deny') ? new Set() : granted
}

/** Sorts plain names first, then patterns with the most literal characters. */
function byCloseness({ label: a }: LabelRule, { label: b }: LabelRule): number {
  const wildcardRank = (label: string) => (label.includes('*') ? 1 : 0)
  const literalLength = (label: string) => label.replaceAll('*', '').length
  return (
    wildcardRank(a) - wildcardRank(b) ||
    literalLength(b) - literalLength(a) ||
    (a < b ? -1 : a > b ? 1 : 0)
  )
}

export type ClusterResource = 'Node' | 'Agent' | 'Operator' | 'Quota' | 'Plugin'

/** Reports whether the token may read or write a resource without a namespace. */
export function hasClusterPolicy(
  permissions: AclPermissions,
  resource: ClusterResource,
  level: 'read' | 'write',
): boolean {
  if (permissions.isUnlimited) return true
  const policies = permissions.rules.flatMap((rules) => rules[resource]?.Policy ?? [])
  if (policies.includes('deny')) return false
  return policies.includes('write') || (level === 'read' && policies.includes('read'))
}

function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(name)
}
