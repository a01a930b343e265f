import type { v2 } from '@reeve/contract'
import type { PolicyCheckRow, RunRow, StatusTimes, TaskStageRow } from '../../model/index.ts'

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

type StageStatus = TaskStageRow['status']
type CheckStatus = PolicyCheckRow['status']

/** Facts about a run whose policies have been evaluated. */
export interface RunProgressInput {
  readonly run: Pick<
    RunRow,
    'planOnly' | 'hasChanges' | 'allowEmptyApply' | 'autoApply' | 'execution'
  >
  /** Undefined if no set is evaluated in a stage. */
  readonly stage: StageStatus | undefined
  /** Result of the check when its turn comes; undefined if it has no sets. */
  readonly check: CheckStatus | undefined
}

/** Next statuses of a run, and the effect on its check. */
interface RunProgress {
  /** Statuses in order; the run stays in the last one. */
  readonly path: readonly v2.RunStatus[]
  readonly check: CheckStatus | undefined
}

/**
 * Returns the progress after the plan, or after an override of the stage. The stage comes before
 * the check.
 */
export function nextAfterStage(input: RunProgressInput): RunProgress {
  const { run, stage } = input
  if (stage === 'awaiting_override')
    return {
      // Clients that execute runs expect a separate status for it.
      path: [run.execution === undefined ? 'policy_override' : 'post_plan_awaiting_decision'],
      check: pendingCheck(input),
    }
  // A failed stage does not change the status of a speculative run.
  if (stage === 'failed' && !run.planOnly)
    return { path: ['errored'], check: unreachableCheck(input) }
  const progress = nextAfterCheck(input)
  if (input.check === undefined)
    return { ...progress, path: ['post_plan_completed', ...progress.path] }
  return { ...progress, path: ['post_plan_completed', 'policy_checking', ...progress.path] }
}

/** Returns the progress from the check, or from an override of it. */
export function nextAfterCheck({ run, check }: Omit<RunProgressInput, 'stage'>): RunProgress {
  switch (check) {
    case 'hard_failed':
    case 'errored':
      return { path: ['errored'], check }
    case 'soft_failed':
      return { path: [canApply(run) ? 'policy_override' : 'policy_soft_failed'], check }
    case undefined:
      return { path: nextAfterPolicies(run), check }
    default:
      return { path: ['policy_checked', ...nextAfterPolicies(run)], check }
  }
}

/**
 * Returns the statuses when no policy blocks the run: its end, an apply, or the wait for a
 * confirmation.
 */
export function nextAfterPolicies(run: RunProgressInput['run']): readonly v2.RunStatus[] {
  if (!canApply(run)) return ['planned_and_finished']
  if (run.execution?.savePlan === true) return ['planned_and_saved']
  return run.autoApply ? ['confirmed'] : []
}

/**
 * Reports whether anything can follow the plan. Otherwise there is nothing to override: a
 * speculative run and a plan without changes do not pause.
 */
export function canApply({
  planOnly,
  hasChanges,
  allowEmptyApply,
}: RunProgressInput['run']): boolean {
  return !planOnly && (hasChanges || allowEmptyApply)
}

function pendingCheck({ check }: RunProgressInput): CheckStatus | undefined {
  return check === undefined ? undefined : 'pending'
}

function unreachableCheck({ check }: RunProgressInput): CheckStatus | undefined {
  return check === undefined ? undefined : 'unreachable'
}
