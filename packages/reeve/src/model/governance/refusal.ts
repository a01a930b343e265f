/**
 * How a governance use case says no. `http/v2` alone turns it into a status and an error document;
 * whether something is hidden (`unseen`) or refused is decided by the use case.
 */
export type GovernanceRefusal =
  /** Not there, or the caller may not know: the same answer. */
  | { readonly code: 'unseen' }
  /** The organization takes no tokens of users. */
  | { readonly code: 'token-refused' }
  | { readonly code: 'forbidden'; readonly detail: string }
  | { readonly code: 'conflict'; readonly detail: string; readonly reason?: RefusalReason }
  /** A query or member that cannot be meant. */
  | { readonly code: 'malformed'; readonly detail: string; readonly parameter?: string }
  /** Rules on attributes or relationships, each told by itself. */
  | {
      readonly code: 'invalid'
      readonly problems: readonly AttributeProblem[]
      readonly reason?: RefusalReason
    }
  /** It parses and cannot be done. */
  | {
      readonly code: 'unprocessable'
      readonly detail: string
      readonly parameter?: string
      readonly reason?: RefusalReason
    }
  | { readonly code: 'too-large'; readonly bytesMax: number }

/** Refusals that clients tell apart though they have one status. */
export const REFUSAL_REASONS = [
  'project-not-empty',
  'workspace-locked',
  'workspace-not-locked',
] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

export type GovernanceRefusalCode = GovernanceRefusal['code']

/** One broken rule. `detail` begins with the attribute in words. */
export interface AttributeProblem {
  /** Where in the request: `/data/attributes/name`. */
  readonly pointer: string
  readonly detail: string
  /** `invalid attribute` unless a client matches on another one. */
  readonly title?: string
}

/** Not there, or not to be known of. */
export const UNSEEN: GovernanceRefusal = { code: 'unseen' }

/** A single broken rule. */
export function invalid(pointer: string, detail: string): GovernanceRefusal {
  return { code: 'invalid', problems: [{ pointer, detail }] }
}

/** What a refusal says, for a record that outlasts the request. */
export function refusalText(refusal: GovernanceRefusal): string {
  if (refusal.code === 'invalid') return refusal.problems.map(({ detail }) => detail).join('; ')
  return 'detail' in refusal ? refusal.detail : refusal.code
}
