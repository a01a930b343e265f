import type { Grants } from './grants.ts'

/** Who makes a request, and what it may do. */
export interface Caller {
  readonly grants: Grants
  /** Empty when ACLs are off, `anonymous` for a request without a token. */
  readonly accessorId: string
  readonly name: string
  readonly type: 'management' | 'client' | 'anonymous' | 'disabled'
  /** When the token ends; undefined when it never does. */
  readonly expiresMs: number | undefined
}
