import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { commitNode, findNode, unchanged, type NodeWritten } from './node-writes.ts'

/** Evaluates every job that the node matters to, though nothing has changed. */
export async function evaluateNode(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
): Promise<Result<NodeWritten, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  const written = await commitNode(context, author, {
    node,
    cause: 'EvaluationUpdated',
    evaluates: true,
  })
  return ok(written.evalIds.length === 0 ? await unchanged(context, node) : written)
}
