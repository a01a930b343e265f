import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { commitNode, findNode, type NodeWriteResult } from './node-writes.ts'

/**
 * Purges a node. Its allocations count as lost; their jobs are evaluated. A running agent loses its
 * channel and has to join again.
 */
export async function purgeNode(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  return ok(
    await commitNode(context, author, {
      node: found.value,
      cause: 'NodeDeregistration',
      next: 'removed',
      createsEvaluations: true,
    }),
  )
}
