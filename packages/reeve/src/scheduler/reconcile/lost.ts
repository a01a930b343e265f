import type { TaskGroup } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'
import { isReplaced } from './row-order.ts'
import { lostSinceMs } from './state-history.ts'

/** Minimum time that a disconnected agent takes to stop its tasks. */
const KILL_TIMEOUT_MIN_MS = 5_000

/**
 * Time that a lost allocation may still run, because its agent stops it only after
 * `stop_on_client_after`. It is not replaced earlier, so that it never runs twice.
 */
export function stopOnClientWaitMs({ Disconnect, Tasks }: TaskGroup): number | undefined {
  const stopAfterNs = Disconnect?.StopOnClientAfter ?? null
  if (stopAfterNs === null) return undefined
  const killTimeoutMs = Tasks.reduce(
    (longest, task) => Math.max(longest, msFromNs(task.KillTimeout)),
    0,
  )
  return msFromNs(stopAfterNs) + Math.max(KILL_TIMEOUT_MIN_MS, killTimeoutMs)
}

export interface LostReplacementContext {
  readonly group: TaskGroup
  readonly nowMs: number
  /** IDs of the evaluations that are processed now. */
  readonly evaluationIds: ReadonlySet<string>
  /** True if an evaluation with a future `WaitUntil` is still pending. */
  readonly isPendingEvaluation: (evaluationId: string) => boolean
}

/**
 * Tells whether an allocation that was stopped as lost is still to be replaced: `wait` while its
 * agent may run it, `now` afterwards. Only allocations that had to wait, for their agent or for the
 * placement budget, have the loss in their state history.
 *
 * The follow-up evaluation marks the end of the wait. If the clock was set back it runs early, and
 * there is no later one. An allocation without a follow-up waited for the budget only.
 */
export function lostReplacement(
  row: AllocationRow,
  { group, nowMs, evaluationIds, isPendingEvaluation }: LostReplacementContext,
): 'wait' | 'now' | 'none' {
  const sinceMs = lostSinceMs(row)
  if (sinceMs === undefined || row.ClientStatus !== 'lost' || isReplaced(row)) return 'none'
  if (nowMs >= sinceMs + (stopOnClientWaitMs(group) ?? 0)) return 'now'
  const followUpId = row.FollowupEvalID ?? ''
  if (followUpId === '') return 'now'
  return evaluationIds.has(followUpId) || !isPendingEvaluation(followUpId) ? 'now' : 'wait'
}
