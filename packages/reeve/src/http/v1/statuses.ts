import type { RefusalCode } from '../../model/index.ts'

/** A new code does not compile until its status is chosen here. Reference §2, column "Use". */
export const STATUS_OF = {
  'acl-disabled': 400,
  'acl-policy-not-found': 404,
  'acl-role-not-found': 404,
  'acl-token-expired': 403,
  'acl-token-not-found': 404,
  'alloc-not-found': 404,
  'bootstrap-done': 400,
  'deployment-not-found': 404,
  'eval-not-found': 404,
  'index-conflict': 409,
  'invalid-input': 400,
  'job-not-found': 404,
  'job-version-not-found': 404,
  'namespace-in-use': 409,
  'namespace-not-found': 404,
  'node-not-found': 404,
  'node-pool-in-use': 409,
  'node-pool-not-found': 404,
  'permission-denied': 403,
  'region-unknown': 404,
  'scaling-policy-not-found': 404,
  'too-many-job-files': 429,
  'too-many-streams': 429,
} as const satisfies Record<RefusalCode, number>
