import type { ReschedulePolicy, RescheduleEvent, RescheduleTracker } from '@reeve/contract'
import { msFromNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'

/** When a failed allocation is placed again. */
export type RescheduleDecision =
  | { readonly when: 'now' }
  | { readonly when: 'later'; readonly dueMs: number }
  | { readonly when: 'never' }
  /** When the deployment that it belongs to says so. */
  | { readonly when: 'held' }

/** Due this soon counts as due: a follow-up for it would cost more than it saves. */
const SOON_MS = 1_000
/** An unlimited policy remembers this many attempts. */
const EVENTS_KEPT = 5

export interface RescheduleContext {
  readonly policy: ReschedulePolicy | null
  readonly nowMs: number
  /** The evaluations that are carried out: what waits for one of them has its turn. */
  readonly evaluationIds: ReadonlySet<string>
  /** Whether an evaluation that waits for its time is still to be carried out. */
  readonly isToCome: (evaluationId: string) => boolean
  /** A deployment that is under way decides itself when what failed in it is replaced. */
  readonly activeDeploymentId?: string | undefined
  /** Of an allocation that did not fail itself: when its node fell silent. */
  readonly failedMs?: number | undefined
}

/**
 * Whether and when an allocation is rescheduled that failed on its node, or whose node is silent,
 * and that was not replaced yet.
 */
export function decideReschedule(
  row: AllocationRow,
  context: RescheduleContext,
): RescheduleDecision {
  const { policy, nowMs, evaluationIds } = context
  // The clock of a node, or that of an earlier leader, may have been ahead.
  const reportedMs = context.failedMs ?? failedAtMs(row)
  const failedMs = Math.min(reportedMs, nowMs)
  const wish = row.DesiredTransition
  if (wish?.ForceReschedule === true && row.ClientStatus === 'failed') return { when: 'now' }
  if (policy === null || !mayReschedule(row, policy, failedMs)) return { when: 'never' }
  const isHeld = (row.DeploymentID ?? '') !== '' && row.DeploymentID === context.activeDeploymentId
  if (isHeld && wish?.Reschedule !== true) return { when: 'held' }
  const dueMs = failedMs + msFromNs(nextDelayNs(row, policy, failedMs))
  const followUpId = row.FollowupEvalID ?? ''
  // A failure that lies ahead would begin its delay anew each time until the clock has caught up.
  const hasWaited = reportedMs > nowMs && followUpId !== '' && !context.isToCome(followUpId)
  const isItsTurn = hasWaited || evaluationIds.has(followUpId)
  return isItsTurn || dueMs <= nowMs + SOON_MS ? { when: 'now' } : { when: 'later', dueMs }
}

/** Whether a group with this policy places failed ones again at all. */
export function reschedules(policy: ReschedulePolicy | null): policy is ReschedulePolicy {
  return policy !== null && (policy.Unlimited || policy.Attempts > 0)
}

/** Whether the policy leaves it another attempt. */
export function mayReschedule(
  row: AllocationRow,
  policy: ReschedulePolicy,
  failedMs: number,
): boolean {
  if (policy.Unlimited) return true
  if (!reschedules(policy)) return false
  const events = eventsOf(row)
  if (events.length === 0) return true
  const recent = recentEvents(events, policy, failedMs)
  return recent.length < policy.Attempts && nextDelayNs(row, policy, failedMs) < policy.Interval
}

/** The time to wait after this failure, from the waits before it. */
export function nextDelayNs(
  row: AllocationRow,
  policy: ReschedulePolicy,
  failedMs = failedAtMs(row),
): number {
  const events = eventsOf(row)
  const last = events.at(-1)
  if (last === undefined) return policy.Delay
  const delay = grownDelayNs(events, policy)
  if (policy.MaxDelay <= 0 || delay <= policy.MaxDelay) return delay
  // At the cap, an allocation that ran longer than the cap begins anew.
  const ranNs = nsFromMs(failedMs) - last.RescheduleTime
  return ranNs > policy.MaxDelay ? policy.Delay : policy.MaxDelay
}

function grownDelayNs(events: readonly RescheduleEvent[], policy: ReschedulePolicy): number {
  const last = events.at(-1)?.Delay ?? policy.Delay
  const before = events.at(-2)?.Delay
  switch (policy.DelayFunction) {
    case 'exponential':
      return last * 2
    case 'fibonacci': {
      if (before === undefined) return policy.Delay
      const hasBegunAnew = before === policy.MaxDelay && last === policy.Delay
      return hasBegunAnew ? last : last + before
    }
    default:
      return policy.Delay
  }
}

/** When the last of its tasks ended, or when it was last written if no task ever began. */
function failedAtMs(row: AllocationRow): number {
  const ends = Object.values(row.TaskStates ?? {})
    .map((state) => state.FinishedAt ?? ZERO_TIME)
    .filter((time) => time !== ZERO_TIME)
    .map((time) => Date.parse(time))
    .filter((time) => Number.isFinite(time))
  return ends.length === 0 ? msFromNs(row.ModifyTime) : Math.max(...ends)
}

/** What the replacement of a failed allocation remembers of those before it. */
export function trackerAfter(
  row: AllocationRow,
  policy: ReschedulePolicy | null,
  nowMs: number,
): RescheduleTracker {
  const events = eventsOf(row)
  const limited = policy !== null && policy.Attempts > 0
  const kept = limited ? recentEvents(events, policy, failedAtMs(row)) : events.slice(-EVENTS_KEPT)
  const event: RescheduleEvent = {
    RescheduleTime: nsFromMs(nowMs),
    PrevAllocID: row.ID,
    PrevNodeID: row.NodeID,
    Delay: policy === null ? 0 : nextDelayNs(row, policy),
  }
  return { Events: [...kept, event], LastReschedule: 'ok' }
}

/** No node was found: noted on the old allocation, which stays to be tried again. */
export function trackerAfterFailure(row: AllocationRow): RescheduleTracker {
  return { Events: [...eventsOf(row)], LastReschedule: 'failed to place' }
}

/** Nodes on which it failed before: avoided, not excluded. */
export function penaltyNodes(row: AllocationRow): ReadonlySet<string> {
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
