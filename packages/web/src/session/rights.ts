import type { AclPolicyRules, NamespaceCapability } from '@reeve/contract'

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
  const held = capabilitiesIn(rights, namespace)
  return !held.has('deny') && capabilities.some((one) => held.has(one))
}

/** Reference §6.7: of the rules that match, each policy's most exact one counts; `deny` wins. */
function capabilitiesIn({ rules }: Rights, namespace: string): ReadonlySet<string> {
  const held = new Set<string>()
  for (const { Namespaces } of rules) {
    const matching = (Namespaces ?? []).filter(({ Name }) => matches(Name, namespace))
    const nearest = matching.toSorted((a, b) => looseness(a.Name) - looseness(b.Name))[0]
    for (const capability of nearest?.Capabilities ?? []) held.add(capability)
  }
  return held
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
  return new RegExp(`^${parts.join('.*')}$`).test(name)
}

/** How much of a name a pattern leaves open: a plain name nothing, `*` all of it. */
function looseness(pattern: string): number {
  return pattern.includes('*') ? 1_000 - pattern.length : 0
}
