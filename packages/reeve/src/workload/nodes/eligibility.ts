import type { Eligibility } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, withNodeEvent, type Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { commitNode, findNode, unchanged, type NodeWritten } from './node-writes.ts'

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
  wanted: string,
): Promise<Result<NodeWritten, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  if (!isEligibility(wanted))
    return invalid(`invalid scheduling eligibility "${wanted.slice(0, SHOWN_MAX)}"`)
  if (wanted === 'eligible' && node.DrainStrategy !== null)
    return invalid("can not set node's scheduling eligibility to eligible while it is draining")
  if (wanted === node.SchedulingEligibility) return ok(await unchanged(context, node))
  const event = {
    subsystem: 'Cluster',
    message: `Node marked as ${wanted} for scheduling`,
  } as const
  const written = await commitNode(context, author, {
    node,
    cause: 'NodeEligibility',
    next: (stamp) => ({
      ...node,
      SchedulingEligibility: wanted,
      Events: withNodeEvent(node.Events, event, stamp),
    }),
    evaluates: wanted === 'eligible',
  })
  return ok(written)
}

function isEligibility(text: string): text is Eligibility {
  return text === 'eligible' || text === 'ineligible'
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
