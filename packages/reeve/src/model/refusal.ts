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

/** The same text for every missing permission, so that it reveals nothing. */
export const PERMISSION_DENIED: Refusal = refusal('permission-denied', 'Permission denied')
