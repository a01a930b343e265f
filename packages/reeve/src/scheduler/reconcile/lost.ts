import type { TaskGroup } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'
import { isReplaced } from './row-order.ts'
import { lostSinceMs } from './state-history.ts'

/** An agent that is alone has at least this long to stop its tasks. */
const KILL_MS_MIN = 5_000

/**
 * How long a lost allocation may still run, because its agent stops it only after
 * `stop_on_client_after`. Until then it is not replaced: two of it would run at once.
 */
export function lostWaitMs({ Disconnect, Tasks }: TaskGroup): number | undefined {
  const stopAfterNs = Disconnect?.StopOnClientAfter ?? null
  if (stopAfterNs === null) return undefined
  const killMs = Tasks.reduce((most, task) => Math.max(most, msFromNs(task.KillTimeout)), 0)
  return msFromNs(stopAfterNs) + Math.max(KILL_MS_MIN, killMs)
}

export interface LostContext {
  readonly group: TaskGroup
  readonly nowMs: number
  /** The evaluations that are carried out: what waits for one of them has its turn. */
  readonly evaluationIds: ReadonlySet<string>
  /** Whether an evaluation that waits for its time is still to be carried out. */
  readonly isToCome: (evaluationId: string) => boolean
}

/**
 * Whether an allocation that was stopped as lost is still to be replaced: `wait` while its agent
 * may run it, `now` afterwards. Others were replaced when they were lost, or were not needed. Only
 * those that had to wait, for their agent or for the budget of their job, have the loss in their
 * history.
 *
 * The follow-up measures how long that is. By a clock that was set back meanwhile it comes early,
 * and after it nobody would ask again.
 */
export function replacementOfLost(
  row: AllocationRow,
  { group, nowMs, evaluationIds, isToCome }: LostContext,
): 'wait' | 'now' | 'none' {
  const sinceMs = lostSinceMs(row)
  if (sinceMs === undefined || row.ClientStatus !== 'lost' || isReplaced(row)) return 'none'
  if (nowMs >= sinceMs + (lostWaitMs(group) ?? 0)) return 'now'
  const followUpId = row.FollowupEvalID ?? ''
  if (followUpId === '') return 'wait'
  return evaluationIds.has(followUpId) || !isToCome(followUpId) ? 'now' : 'wait'
}
