import type { ReschedulePolicy, RescheduleEvent, RescheduleTracker } from '@reeve/contract'
import { msFromNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'

/** Decides when a failed allocation is rescheduled. */
type RescheduleDecision =
  | { readonly when: 'now' }
  | { readonly when: 'later'; readonly dueMs: number }
  | { readonly when: 'never' }
  /** When its deployment allows it. */
  | { readonly when: 'held' }

/** Reschedules due within this time happen now; a follow-up would cost more. */
const DUE_TOLERANCE_MS = 1_000
/** Number of attempts kept for an unlimited policy. */
const UNLIMITED_EVENTS_MAX = 5

interface RescheduleContext {
  readonly policy: ReschedulePolicy | null
  readonly nowMs: number
  /** IDs of the evaluations that are processed now. */
  readonly evaluationIds: ReadonlySet<string>
  /** True if an evaluation with a future `WaitUntil` is still pending. */
  readonly isPendingEvaluation: (evaluationId: string) => boolean
  /** Active deployment, which decides when its failed allocations are replaced. */
  readonly activeDeploymentId?: string | undefined
  /** Time at which the node disconnected, for an allocation that did not fail. */
  readonly disconnectedMs?: number | undefined
}

/**
 * Decides whether and when an allocation is rescheduled that failed or whose node is disconnected,
 * and that was not replaced yet.
 */
export function decideReschedule(
  row: AllocationRow,
  context: RescheduleContext,
): RescheduleDecision {
  const { policy, nowMs, evaluationIds } = context
  // The clock of the node or of an earlier leader may have been ahead.
  const reportedMs = context.disconnectedMs ?? failedMsOf(row)
  const failedMs = Math.min(reportedMs, nowMs)
  const transition = row.DesiredTransition
  if (transition?.ForceReschedule === true && row.ClientStatus === 'failed') return { when: 'now' }
  if (policy === null || !hasRescheduleAttemptsLeft(row, policy, failedMs)) return { when: 'never' }
  const isDecidedByDeployment =
    (row.DeploymentID ?? '') !== '' && row.DeploymentID === context.activeDeploymentId
  if (isDecidedByDeployment && transition?.Reschedule !== true) return { when: 'held' }
  const dueMs = failedMs + msFromNs(nextDelayNs(row, policy, failedMs))
  const followUpId = row.FollowupEvalID ?? ''
  // For a failure time in the future, the delay would restart each time until the clock catches up.
  const hasWaited =
    reportedMs > nowMs && followUpId !== '' && !context.isPendingEvaluation(followUpId)
  const isFollowUp = hasWaited || evaluationIds.has(followUpId)
  return isFollowUp || dueMs <= nowMs + DUE_TOLERANCE_MS
    ? { when: 'now' }
    : { when: 'later', dueMs }
}

/** True if the policy allows rescheduling at all. */
export function isReschedulingEnabled(policy: ReschedulePolicy | null): policy is ReschedulePolicy {
  return policy !== null && (policy.Unlimited || policy.Attempts > 0)
}

/** True if the policy allows another attempt. */
export function hasRescheduleAttemptsLeft(
  row: AllocationRow,
  policy: ReschedulePolicy,
  failedMs: number,
): boolean {
  if (policy.Unlimited) return true
  if (!isReschedulingEnabled(policy)) return false
  const events = eventsOf(row)
  if (events.length === 0) return true
  const recent = recentEvents(events, policy, failedMs)
  return recent.length < policy.Attempts && nextDelayNs(row, policy, failedMs) < policy.Interval
}

/** Delay after this failure, computed from the previous delays. */
export function nextDelayNs(
  row: AllocationRow,
  policy: ReschedulePolicy,
  failedMs = failedMsOf(row),
): number {
  const events = eventsOf(row)
  const last = events.at(-1)
  if (last === undefined) return policy.Delay
  const delay = increasedDelayNs(events, policy)
  if (policy.MaxDelay <= 0 || delay <= policy.MaxDelay) return delay
  // At the maximum delay, an allocation that ran longer than it resets to the initial delay.
  const runTimeNs = nsFromMs(failedMs) - last.RescheduleTime
  return runTimeNs > policy.MaxDelay ? policy.Delay : policy.MaxDelay
}

function increasedDelayNs(events: readonly RescheduleEvent[], policy: ReschedulePolicy): number {
  const last = events.at(-1)?.Delay ?? policy.Delay
  const before = events.at(-2)?.Delay
  switch (policy.DelayFunction) {
    case 'exponential':
      return last * 2
    case 'fibonacci': {
      if (before === undefined) return policy.Delay
      const wasReset = before === policy.MaxDelay && last === policy.Delay
      return wasReset ? last : last + before
    }
    default:
      return policy.Delay
  }
}

/** End time of the last task, or the time of the last update if no task started. */
function failedMsOf(row: AllocationRow): number {
  const ends = Object.values(row.TaskStates ?? {})
    .map((state) => state.FinishedAt ?? ZERO_TIME)
    .filter((time) => time !== ZERO_TIME)
    .map((time) => Date.parse(time))
    .filter((time) => Number.isFinite(time))
  return ends.length === 0 ? msFromNs(row.ModifyTime) : Math.max(...ends)
}

/** Reschedule tracker of the replacement of a failed allocation. */
export function nextTracker(
  row: AllocationRow,
  policy: ReschedulePolicy | null,
  nowMs: number,
): RescheduleTracker {
  const events = eventsOf(row)
  const limited = policy !== null && policy.Attempts > 0
  const kept = limited
    ? recentEvents(events, policy, failedMsOf(row))
    : events.slice(-UNLIMITED_EVENTS_MAX)
  const event: RescheduleEvent = {
    RescheduleTime: nsFromMs(nowMs),
    PrevAllocID: row.ID,
    PrevNodeID: row.NodeID,
    Delay: policy === null ? 0 : nextDelayNs(row, policy),
  }
  return { Events: [...kept, event], LastReschedule: 'ok' }
}

/**
 * Reschedule tracker of an allocation whose replacement could not be placed; it will be tried
 * again.
 */
export function trackerWithoutPlacement(row: AllocationRow): RescheduleTracker {
  return { Events: [...eventsOf(row)], LastReschedule: 'failed to place' }
}

/** Nodes on which the allocation failed before; they get a score penalty but are not excluded. */
export function penaltyNodeIds(row: AllocationRow): ReadonlySet<string> {
  return new Set([row.NodeID, ...eventsOf(row).map((event) => event.PrevNodeID)])
}

function recentEvents(
  events: readonly RescheduleEvent[],
  policy: ReschedulePolicy,
  failedMs: number,
): readonly RescheduleEvent[] {
  const sinceNs = nsFromMs(failedMs) - policy.Interval
  return events.filter((event) => event.RescheduleTime > sinceNs)
}

function eventsOf(row: AllocationRow): readonly RescheduleEvent[] {
  return row.RescheduleTracker?.Events ?? []
}
