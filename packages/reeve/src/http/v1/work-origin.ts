import { setImmediate } from 'node:timers/promises'
import type { Caller } from '../../acl/index.ts'
import type { WorkOrigin } from '../../workload/index.ts'

/** The tenant of a request is its token; without ACLs, all callers are one. */
export function originOf({ accessorId }: Caller): WorkOrigin {
  return { tenant: accessorId, nextTurn: () => setImmediate() }
}
