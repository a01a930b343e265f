import { err, type Result } from '@reeve/kit/result.ts'

/**
 * An expected failure of a use case, returned as a value; only `http` maps it to a status. The text
 * is part of the contract (clients match on it).
 */
export interface Refusal {
  readonly code: RefusalCode
  readonly message: string
}

export const REFUSAL_CODES = [
  'acl-disabled',
  'acl-policy-not-found',
  'acl-role-not-found',
  'acl-token-expired',
  'acl-token-not-found',
  'alloc-not-found',
  'allocation-not-on-node',
  'bootstrap-done',
  'deployment-not-found',
  'dispatch-meta-invalid',
  'eval-not-found',
  'file-forbidden',
  'file-not-found',
  'file-unreadable',
  'host-volume-changed',
  'host-volume-in-use',
  'host-volume-not-found',
  'host-volume-unplaced',
  'index-conflict',
  'invalid-input',
  'job-invalid',
  'job-not-found',
  'job-not-quarantined',
  'job-version-not-found',
  'join-token-not-found',
  'namespace-in-use',
  'namespace-not-found',
  'node-connecting',
  'node-failed',
  'node-not-enabled',
  'node-not-found',
  'node-pool-in-use',
  'node-pool-not-found',
  'node-revoked',
  'node-silent',
  'node-unreachable',
  'not-on-node',
  'override-comment-required',
  'path-outside-allocation',
  'permission-denied',
  'policy-denied',
  'policy-denied-overridable',
  'region-unknown',
  'region-unreached',
  'restore-running',
  'revocation-not-found',
  'scaling-policy-not-found',
  'secret-file',
  'server-not-found',
  'service-not-found',
  'signal-unknown',
  'task-not-running',
  'too-many-blocking-queries',
  'too-many-job-files',
  'too-many-join-tokens',
  'too-many-node-calls',
  'too-many-streams',
  'unknown-namespace',
  'variable-not-found',
  'volume-plugin-failed',
] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

export function refusal(code: RefusalCode, message: string): Refusal {
  return { code, message }
}

/** Returns the error of a request that breaks a rule of its input. */
export function invalidInput(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}

/** The same text for every missing permission, so that it reveals nothing. */
export const PERMISSION_DENIED: Refusal = refusal('permission-denied', 'Permission denied')

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
export function refusalMessage(rejected: GovernanceRefusal): string {
  if (rejected.code === 'invalid') return rejected.problems.map(({ detail }) => detail).join('; ')
  return 'detail' in rejected ? rejected.detail : rejected.code
}
