import type { DrainMetadata, DrainStrategy, NodeDrainRequest } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, withNodeEvent, type NodeRow, type Refusal } from '../../model/index.ts'
import type { Stamp } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { textMap } from '../text-map.ts'
import { commitNode, findNode, unchanged, type NodeWritten } from './node-writes.ts'

/** Maximum deadline: later times cannot be formatted, and a hundred years is as good as none. */
const DEADLINE_MS_MAX = 100 * 366 * 24 * 3_600_000

export interface DrainRequest {
  readonly nodeId: string
  readonly body: NodeDrainRequest
}

/**
 * Starts, changes or (without a spec) ends a drain. This only records the request; the drain loop
 * migrates the allocations.
 */
export async function drainNode(
  context: WorkloadContext,
  caller: RequestCaller,
  { nodeId, body }: DrainRequest,
): Promise<Result<NodeWritten, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  const spec = body.DrainSpec ?? undefined
  const deadlineNs = spec?.Deadline ?? 0
  if (msFromNs(deadlineNs) > DEADLINE_MS_MAX)
    return err(refusal('invalid-input', 'drain deadline is more than 100 years away'))
  const wish = {
    deadlineNs,
    ignoreSystemJobs: spec?.IgnoreSystemJobs ?? false,
    meta: textMap(body.Meta),
    accessorId: caller.accessorId,
  }
  if (spec !== undefined)
    return ok(
      await commitNode(context, caller, {
        node,
        cause: 'NodeDrain',
        next: (stamp) => drainingRow(node, wish, stamp),
        evaluates: false,
      }),
    )
  const becomesEligible = body.MarkEligible === true && node.SchedulingEligibility !== 'eligible'
  if (node.DrainStrategy === null && !becomesEligible) return ok(await unchanged(context, node))
  return ok(
    await commitNode(context, caller, {
      node,
      cause: 'NodeDrain',
      next: (stamp) => undrainedRow(node, { ...wish, becomesEligible }, stamp),
      evaluates: becomesEligible,
    }),
  )
}

interface DrainWish {
  readonly deadlineNs: number
  readonly ignoreSystemJobs: boolean
  readonly meta: Readonly<Record<string, string>> | null
  readonly accessorId: string
}

function drainingRow(node: NodeRow, wish: DrainWish, stamp: Stamp): NodeRow {
  const now = isoFromMs(stamp.timeMs)
  const { deadlineNs } = wish
  // A changed drain keeps its start time.
  const startedAt = node.DrainStrategy?.StartedAt ?? now
  const strategy: DrainStrategy = {
    Deadline: deadlineNs,
    IgnoreSystemJobs: wish.ignoreSystemJobs,
    ForceDeadline: deadlineNs > 0 ? isoFromMs(stamp.timeMs + msFromNs(deadlineNs)) : ZERO_TIME,
    StartedAt: startedAt,
  }
  const message = node.DrainStrategy === null ? 'Node drain set' : 'Node drain updated'
  return {
    ...node,
    Drain: true,
    DrainStrategy: strategy,
    SchedulingEligibility: 'ineligible',
    LastDrain: {
      StartedAt: startedAt,
      UpdatedAt: now,
      Status: 'draining',
      AccessorID: wish.accessorId,
      Meta: wish.meta,
    },
    Events: withNodeEvent(node.Events, { subsystem: 'Drain', message }, stamp),
  }
}

/** Returns the node after a drain was ended early or the node was only marked eligible. */
function undrainedRow(
  node: NodeRow,
  wish: DrainWish & { readonly becomesEligible: boolean },
  stamp: Stamp,
): NodeRow {
  const wasDraining = node.DrainStrategy !== null
  const message = wasDraining ? 'Node drain disabled' : 'Node marked as eligible for scheduling'
  return {
    ...node,
    Drain: false,
    DrainStrategy: null,
    SchedulingEligibility: wish.becomesEligible ? 'eligible' : node.SchedulingEligibility,
    LastDrain: wasDraining ? canceled(node.LastDrain, wish, stamp) : node.LastDrain,
    Events: withNodeEvent(node.Events, { subsystem: 'Drain', message }, stamp),
  }
}

function canceled(
  last: DrainMetadata | null,
  { accessorId, meta }: DrainWish,
  { timeMs }: Stamp,
): DrainMetadata | null {
  if (last === null) return null
  return {
    ...last,
    UpdatedAt: isoFromMs(timeMs),
    Status: 'canceled',
    AccessorID: accessorId,
    Meta: meta ?? last.Meta,
  }
}
