import type { PublicNode } from '../../model/index.ts'

/**
 * True if a node is unreachable or deleted, so that its agent cannot stop allocations. A draining
 * node is still reachable.
 */
export function isUnreachable(node: PublicNode | undefined): boolean {
  return node === undefined || node.Status === 'down' || node.Status === 'disconnected'
}
