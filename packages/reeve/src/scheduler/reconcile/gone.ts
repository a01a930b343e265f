import type { PublicNode } from '../../model/index.ts'

/**
 * Whether a node cannot be reached or is no longer known, so that nobody there can stop anything.
 * One that drains is still there: who drains it marks the allocations that must leave.
 */
export function isGone(node: PublicNode | undefined): boolean {
  return node === undefined || node.Status === 'down' || node.Status === 'disconnected'
}
