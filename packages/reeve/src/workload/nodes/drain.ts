import type { DrainMetadata, DrainStrategy, NodeDrainRequest } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, withNodeEvent, type NodeRow, type Refusal } from '../../model/index.ts'
import type { Stamp } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { stringMap } from '../text-map.ts'
import { commitNode, findNode, unchangedNode, type NodeWriteResult } from './node-writes.ts'

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
): Promise<Result<NodeWriteResult, Refusal>> {
  const found = findNode(context, nodeId)
  if (!found.ok) return found
  const node = found.value
  const spec = body.DrainSpec ?? undefined
  const deadlineNs = spec?.Deadline ?? 0
  if (msFromNs(deadlineNs) > DEADLINE_MS_MAX)
    return err(refusal('invalid-input', 'drain deadline is more than 100 years away'))
  const settings = {
    deadlineNs,
    ignoreSystemJobs: spec?.IgnoreSystemJobs ?? false,
    meta: stringMap(body.Meta),
    accessorId: caller.accessorId,
  }
  if (spec !== undefined)
    return ok(
      await commitNode(context, caller, {
        node,
        cause: 'NodeDrain',
        next: (stamp) => withDrain(node, settings, stamp),
        createsEvaluations: false,
      }),
    )
  const becomesEligible = body.MarkEligible === true && node.SchedulingEligibility !== 'eligible'
  if (node.DrainStrategy === null && !becomesEligible) return ok(await unchangedNode(context, node))
  return ok(
    await commitNode(context, caller, {
      node,
      cause: 'NodeDrain',
      next: (stamp) => withoutDrain(node, { ...settings, becomesEligible }, stamp),
      createsEvaluations: becomesEligible,
    }),
  )
}

interface DrainSettings {
  readonly deadlineNs: number
  readonly ignoreSystemJobs: boolean
  readonly meta: Readonly<Record<string, string>> | null
  readonly accessorId: string
}

function withDrain(node: NodeRow, settings: DrainSettings, stamp: Stamp): NodeRow {
  const now = isoFromMs(stamp.timeMs)
  const { deadlineNs } = settings
  // A changed drain keeps its start time.
  const startedAt = node.DrainStrategy?.StartedAt ?? now
  const strategy: DrainStrategy = {
    Deadline: deadlineNs,
    IgnoreSystemJobs: settings.ignoreSystemJobs,
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
      AccessorID: settings.accessorId,
      Meta: settings.meta,
    },
    Events: withNodeEvent(node.Events, { subsystem: 'Drain', message }, stamp),
  }
}

/** Returns the node after a drain was ended early or the node was only marked eligible. */
function withoutDrain(
  node: NodeRow,
  settings: DrainSettings & { readonly becomesEligible: boolean },
  stamp: Stamp,
): NodeRow {
  const wasDraining = node.DrainStrategy !== null
  const message = wasDraining ? 'Node drain disabled' : 'Node marked as eligible for scheduling'
  return {
    ...node,
    Drain: false,
    DrainStrategy: null,
    SchedulingEligibility: settings.becomesEligible ? 'eligible' : node.SchedulingEligibility,
    LastDrain: wasDraining ? withCanceledDrain(node.LastDrain, settings, stamp) : node.LastDrain,
    Events: withNodeEvent(node.Events, { subsystem: 'Drain', message }, stamp),
  }
}

function withCanceledDrain(
  lastDrain: DrainMetadata | null,
  { accessorId, meta }: DrainSettings,
  { timeMs }: Stamp,
): DrainMetadata | null {
  if (lastDrain === null) return null
  return {
    ...lastDrain,
    UpdatedAt: isoFromMs(timeMs),
    Status: 'canceled',
    AccessorID: accessorId,
    Meta: meta ?? lastDrain.Meta,
  }
}
