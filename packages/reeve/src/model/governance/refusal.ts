/**
 * Refusal of a governance use case. Only `http/v2` maps it to a status and an error document; the
 * use case decides whether to hide (`unseen`) or reject.
 */
export type GovernanceRefusal =
  /** Does not exist, or the caller may not know of it: the same response. */
  | { readonly code: 'unseen' }
  /** The organization does not accept user tokens. */
  | { readonly code: 'token-refused' }
  | { readonly code: 'forbidden'; readonly detail: string }
  | { readonly code: 'conflict'; readonly detail: string; readonly reason?: RefusalReason }
  /** Invalid query parameter or document member. */
  | { readonly code: 'malformed'; readonly detail: string; readonly parameter?: string }
  /** Violated rules on attributes or relationships, one problem each. */
  | {
      readonly code: 'invalid'
      readonly problems: readonly AttributeProblem[]
      readonly reason?: RefusalReason
    }
  /** Well-formed but cannot be processed. */
  | {
      readonly code: 'unprocessable'
      readonly detail: string
      readonly parameter?: string
      readonly reason?: RefusalReason
    }
  | { readonly code: 'too-large'; readonly bytesMax: number }

/** Reasons that distinguish refusals with the same status. */
export const REFUSAL_REASONS = [
  'project-not-empty',
  'workspace-locked',
  'workspace-not-locked',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

export type GovernanceRefusalCode = GovernanceRefusal['code']

/** One violated rule. `detail` begins with the name of the attribute. */
export interface AttributeProblem {
  /** JSON pointer in the request, such as `/data/attributes/name`. */
  readonly pointer: string
  readonly detail: string
  /** Default: `invalid attribute`; others only where clients match on them. */
  readonly title?: string
}

/** Does not exist, or must not be revealed. */
export const NOT_FOUND: GovernanceRefusal = { code: 'unseen' }

/** Creates a refusal with one violated rule. */
export function invalidAttribute(pointer: string, detail: string): GovernanceRefusal {
  return { code: 'invalid', problems: [{ pointer, detail }] }
}

/** Returns the message of a refusal, for stored records. */
export function refusalMessage(refusal: GovernanceRefusal): string {
  if (refusal.code === 'invalid') return refusal.problems.map(({ detail }) => detail).join('; ')
  return 'detail' in refusal ? refusal.detail : refusal.code
}
