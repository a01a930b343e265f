import type { NamespaceCapability } from '@reeve/contract'
import { mayAtAll, mayInNamespace, type BareRight, type Rights } from '../session/rights.ts'

/** Whether an action is offered: undefined when it is, else the reason why not. */
export type Verdict = string | undefined

/** The first reason against it. */
export function firstReason(...reasons: readonly (Verdict | false)[]): Verdict {
  return reasons.find((reason) => typeof reason === 'string') || undefined
}

/** Why the token may not; any one of the capabilities is enough. */
export function needs(
  rights: Rights,
  namespace: string,
  ...capabilities: readonly NamespaceCapability[]
): Verdict {
  if (mayInNamespace(rights, namespace, capabilities)) return undefined
  const names = capabilities.map((one) => `namespace:${one}`).join(' or ')
  return `Your token lacks ${names} in the namespace "${namespace}".`
}

/** The same for what is in no namespace, such as nodes. */
export function needsAtAll(rights: Rights, what: BareRight, level: 'read' | 'write'): Verdict {
  if (mayAtAll(rights, what, level)) return undefined
  return `Your token lacks ${what.toLowerCase()}:${level}.`
}

export function needsManagement(rights: Rights): Verdict {
  return rights.isUnlimited ? undefined : 'Only a management token may do this.'
}
