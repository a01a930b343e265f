import type { v2 } from '@reeve/contract'
import type { RunRow, StatusTimes } from '../../model/index.ts'

/** Allowed status transitions of a run. The last six statuses are terminal. */
export const RUN_TRANSITIONS = {
  pending: ['plan_queued', 'planning', 'canceled', 'errored'],
  plan_queued: ['planning', 'canceled', 'errored'],
  planning: ['planned', 'canceled', 'errored'],
  planned: [
    'post_plan_running',
    'planned_and_saved',
    'confirmed',
    'planned_and_finished',
    'discarded',
    'canceled',
  ],
  post_plan_running: [
    'post_plan_completed',
    'post_plan_awaiting_decision',
    'policy_override',
    'canceled',
    'errored',
  ],
  post_plan_awaiting_decision: ['post_plan_completed', 'discarded', 'canceled'],
  post_plan_completed: [
    'policy_checking',
    'planned_and_saved',
    'confirmed',
    'planned_and_finished',
    'discarded',
    'canceled',
  ],
  policy_checking: [
    'policy_checked',
    'policy_override',
    'policy_soft_failed',
    'canceled',
    'errored',
  ],
  policy_override: ['post_plan_completed', 'policy_checked', 'discarded', 'canceled'],
  policy_checked: [
    'planned_and_saved',
    'confirmed',
    'planned_and_finished',
    'discarded',
    'canceled',
  ],
  planned_and_saved: ['confirmed', 'discarded', 'canceled'],
  confirmed: ['apply_queued', 'applied', 'errored', 'canceled'],
  apply_queued: ['applying', 'errored', 'canceled'],
  applying: ['applied', 'errored', 'canceled'],
  policy_soft_failed: [],
  applied: [],
  discarded: [],
  canceled: [],
  errored: [],
  planned_and_finished: [],
} as const satisfies Record<v2.RunStatus, readonly v2.RunStatus[]>

export function canTransition(from: v2.RunStatus, to: v2.RunStatus): boolean {
  const targets: readonly v2.RunStatus[] = RUN_TRANSITIONS[from]
  return targets.includes(to)
}

export function isTerminalStatus(status: v2.RunStatus): boolean {
  return RUN_TRANSITIONS[status].length === 0
}

/** Reports whether the status is terminal or waits for a user action. */
export function isIdle(status: v2.RunStatus): boolean {
  return isTerminalStatus(status) || AWAITING_OVERRIDE.has(status) || isConfirmable(status)
}

const AWAITING_OVERRIDE: ReadonlySet<v2.RunStatus> = new Set([
  'policy_override',
  'post_plan_awaiting_decision',
])

/** Reports whether a phase of the run waits for a node or executes on one. */
export function isExecuting(status: v2.RunStatus): boolean {
  return EXECUTING.has(status)
}

const EXECUTING: ReadonlySet<v2.RunStatus> = new Set([
  'plan_queued',
  'planning',
  'apply_queued',
  'applying',
])

/**
 * Reports whether the policies have passed or were overridden and the run waits for a confirmation.
 */
export function isConfirmable(status: v2.RunStatus): boolean {
  return canTransition(status, 'confirmed')
}

export function isDiscardable(status: v2.RunStatus): boolean {
  return canTransition(status, 'discarded')
}

export function isCancelable(status: v2.RunStatus): boolean {
  return canTransition(status, 'canceled')
}

/** Returns the statuses that are not terminal. */
export function activeStatuses(): readonly v2.RunStatus[] {
  // The keys of the table are exactly the statuses.
  return (Object.keys(RUN_TRANSITIONS) as v2.RunStatus[]).filter(
    (status) => !isTerminalStatus(status),
  )
}

/** Returns the run after the transitions of `path`, with a timestamp for every status. */
export function transitionRun(run: RunRow, path: readonly v2.RunStatus[], nowMs: number): RunRow {
  return {
    ...run,
    status: path.at(-1) ?? run.status,
    statusMs: path.reduce((times, status) => withStatusTime(times, status, nowMs), run.statusMs),
  }
}

/** The timestamp of `policy_checked` is `policy-checked-at`. */
export function withStatusTime(times: StatusTimes, status: string, nowMs: number): StatusTimes {
  return { ...times, [`${status.replaceAll('_', '-')}-at`]: nowMs }
}
