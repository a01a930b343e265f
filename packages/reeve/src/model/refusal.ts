/**
 * The caller is told no. Use cases return refusals as values; `http` alone turns them into
 * statuses. The text is part of the contract (reference §2: clients match on it).
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
  'bootstrap-done',
  'deployment-not-found',
  'eval-not-found',
  'index-conflict',
  'invalid-input',
  'job-not-found',
  'job-not-quarantined',
  'job-version-not-found',
  'join-token-not-found',
  'namespace-in-use',
  'namespace-not-found',
  'node-connecting',
  'node-failed',
  'node-not-found',
  'node-pool-in-use',
  'node-pool-not-found',
  'node-revoked',
  'node-silent',
  'node-unreachable',
  'not-on-node',
  'permission-denied',
  'policy-denied',
  'region-unknown',
  'region-unreached',
  'revocation-not-found',
  'scaling-policy-not-found',
  'service-not-found',
  'too-many-job-files',
  'too-many-join-tokens',
  'too-many-node-calls',
  'too-many-blocking-queries',
  'too-many-streams',
  'variable-not-found',
] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

export function refusal(code: RefusalCode, message: string): Refusal {
  return { code, message }
}

/** Reference §2.2: one text whatever is missing, so that it tells nothing. */
export const PERMISSION_DENIED: Refusal = refusal('permission-denied', 'Permission denied')
