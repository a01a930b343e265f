import { Type } from 'typebox'
import type { Infer } from '../schema.ts'
import { Uuid } from '../v1/shared-schemas.ts'

/**
 * How the data of an ended allocation gets to the one that replaces it on another node. The servers
 * join two streams (channel/requests.ts), each dialled with a secret of its own; nodes never speak
 * to each other.
 *
 *   new node                            server                             old node
 *     migrate ─────────────────────────►            waits for the old allocation's end
 *                                                   open `data` ───────────►
 *            ◄──────────────────────── open `take-data`, or no-data
 *            ◄════════════════════════ tar ◄══════════════════════════════
 */
export const MigrateMessage = Type.Object({
  kind: Type.Literal('migrate'),
  allocation: Uuid('The new one, which has to be of the node that asks.'),
})
export type MigrateMessage = Infer<typeof MigrateMessage>

/** There is nothing to be had, and will not be: the allocation begins empty. */
export const NoDataMessage = Type.Object({
  kind: Type.Literal('no-data'),
  allocation: Type.String(),
  reason: Type.String(),
})
export type NoDataMessage = Infer<typeof NoDataMessage>
