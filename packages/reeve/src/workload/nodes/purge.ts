import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { commitNode, findNode, type NodeWritten } from './node-writes.ts'

/**
 * Forgets a node. What was on it counts as lost; its jobs are evaluated. An agent that is still
 * there loses its channel and has to join anew.
 */
export async function purgeNode(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
): Promise<Result<NodeWritten, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  return ok(
    await commitNode(context, author, {
      node: found.value,
      cause: 'NodeDeregistration',
      next: 'removed',
      evaluates: true,
    }),
  )
}
