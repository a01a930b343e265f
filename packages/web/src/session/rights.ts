import type {
  AclPolicyRules,
  NamespaceCapability,
  NodePoolCapability,
  VariableCapability,
} from '@reeve/contract'

/**
 * What the token may do, as far as the API tells it. The server decides in the end: this only keeps
 * the pages from offering what it would refuse.
 */
export interface Rights {
  /** Access control is off, or the token is a management token. */
  readonly isUnlimited: boolean
  readonly rules: readonly AclPolicyRules[]
}

export const UNLIMITED: Rights = { isUnlimited: true, rules: [] }

/** Nothing is known: a token that cannot read its own policies. */
export const NO_RIGHTS: Rights = { isUnlimited: false, rules: [] }

/** Whether the token holds one of the capabilities in the namespace. */
export function mayInNamespace(
  rights: Rights,
  namespace: string,
  capabilities: readonly NamespaceCapability[],
): boolean {
  if (rights.isUnlimited) return true
  const held = heldOn(namespace, rights.rules.flatMap(namespaceRules))
  return capabilities.some((one) => held.has(one))
}

/** Whether the token holds the capability on the pool. */
export function mayInPool(rights: Rights, pool: string, capability: NodePoolCapability): boolean {
  if (rights.isUnlimited) return true
  const rules = rights.rules.flatMap(({ NodePools }) => (NodePools ?? []).map(labelRule))
  return heldOn(pool, rules).has(capability)
}

/** Whether there is a pool at all on which the token holds the capability. */
export function mayInSomePool(rights: Rights, capability: NodePoolCapability): boolean {
  if (rights.isUnlimited) return true
  return rights.rules.some(({ NodePools }) =>
    (NodePools ?? []).some(({ Capabilities }) => Capabilities.includes(capability)),
  )
}

/** What names a variable. */
export interface VariableName {
  readonly namespace: string
  readonly path: string
}

/** Whether the token holds the capability on the path of the namespace. */
export function mayOnVariable(
  rights: Rights,
  { namespace, path }: VariableName,
  capability: VariableCapability,
): boolean {
  if (rights.isUnlimited) return true
  return heldOn(`${namespace}${SEPARATOR}${path}`, variableRules(rights)).has(capability)
}

/** Whether there is a path at all on which the token holds the capability. */
export function mayOnSomeVariable(rights: Rights, capability: VariableCapability): boolean {
  if (rights.isUnlimited) return true
  return variableRules(rights).some(({ capabilities }) => capabilities.includes(capability))
}

/** No namespace and no path holds it, so a star of one part cannot reach into the other. */
const SEPARATOR = '\u0000'

function variableRules({ rules }: Rights): readonly LabelRule[] {
  return rules.flatMap(({ Namespaces }) =>
    (Namespaces ?? []).flatMap(({ Name, Variables }) =>
      (Variables?.Paths ?? []).map(({ PathSpec, Capabilities }) => ({
        label: `${Name}${SEPARATOR}${PathSpec}`,
        capabilities: Capabilities,
      })),
    ),
  )
}

/** A rule for one name, or for all that a pattern matches. */
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
 * Of all policies together, the rules of the label that is closest to the name count, and no
 * others; one `deny` among them leaves nothing.
 */
function heldOn(name: string, rules: readonly LabelRule[]): ReadonlySet<string> {
  const [closest] = rules.filter(({ label }) => matches(label, name)).toSorted(byCloseness)
  const held = new Set(
    rules.flatMap(({ label, capabilities }) => (label === closest?.label ? capabilities : [])),
  )
  return held.has('deny') ? new Set() : held
}

/** A plain name first, then the pattern that leaves least of the name open. */
function byCloseness({ label: a }: LabelRule, { label: b }: LabelRule): number {
  const open = (label: string) => (label.includes('*') ? 1 : 0)
  const plain = (label: string) => label.replaceAll('*', '').length
  return open(a) - open(b) || plain(b) - plain(a) || (a < b ? -1 : a > b ? 1 : 0)
}

export type BareRight = 'Node' | 'Agent' | 'Operator' | 'Quota' | 'Plugin'

/** Whether the token may read or write what has no namespace, such as nodes. */
export function mayAtAll(rights: Rights, what: BareRight, level: 'read' | 'write'): boolean {
  if (rights.isUnlimited) return true
  const policies = rights.rules.flatMap((rules) => rules[what]?.Policy ?? [])
  if (policies.includes('deny')) return false
  return policies.includes('write') || (level === 'read' && policies.includes('read'))
}

function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(name)
}
