import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { commitNode, findNode, unchangedNode, type NodeWriteResult } from './node-writes.ts'

/** Evaluates all jobs affected by the node, although nothing has changed. */
export async function evaluateNode(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  const result = await commitNode(context, author, {
    node,
    cause: 'EvaluationUpdated',
    createsEvaluations: true,
  })
  return ok(result.evalIds.length === 0 ? await unchangedNode(context, node) : result)
}
