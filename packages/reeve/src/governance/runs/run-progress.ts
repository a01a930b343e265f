import type { v2 } from '@reeve/contract'
import type { PolicyCheckRow, RunRow, TaskStageRow } from '../../model/index.ts'

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
export interface RunProgress {
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
