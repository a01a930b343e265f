import type { Eligibility } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, withNodeEvent, type Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { commitNode, findNode, unchangedNode, type NodeWriteResult } from './node-writes.ts'

/** Maximum number of characters of an unknown value in an error. */
const SHOWN_MAX = 64

/**
 * Sets whether a node is eligible for new allocations. If it becomes eligible, system jobs and jobs
 * with allocations on it are evaluated.
 */
export async function setEligibility(
  context: WorkloadContext,
  author: Author,
  nodeId: string,
  requested: string,
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  if (!isEligibility(requested))
    return invalid(`invalid scheduling eligibility "${requested.slice(0, SHOWN_MAX)}"`)
  if (requested === 'eligible' && node.DrainStrategy !== null)
    return invalid("can not set node's scheduling eligibility to eligible while it is draining")
  if (requested === node.SchedulingEligibility) return ok(await unchangedNode(context, node))
  const event = {
    subsystem: 'Cluster',
    message: `Node marked as ${requested} for scheduling`,
  } as const
  const written = await commitNode(context, author, {
    node,
    cause: 'NodeEligibility',
    next: (stamp) => ({
      ...node,
      SchedulingEligibility: requested,
      Events: withNodeEvent(node.Events, event, stamp),
    }),
    createsEvaluations: requested === 'eligible',
  })
  return ok(written)
}

function isEligibility(text: string): text is Eligibility {
  return text === 'eligible' || text === 'ineligible'
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
