import type { Grants } from './grants.ts'

/** Author of a request, with its permissions. */
export interface Caller {
  readonly grants: Grants
  /** Empty if ACLs are disabled, `anonymous` for a request without a token. */
  readonly accessorId: string
  readonly name: string
  readonly type: 'management' | 'client' | 'anonymous' | 'disabled'
  /** Expiry of the token; undefined if it does not expire. */
  readonly expiresMs: number | undefined
}
