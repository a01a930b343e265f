import type { v2 } from '@reeve/contract'
import type { PolicyCheckRow, RunRow, TaskStageRow } from '../../model/index.ts'

type StageStatus = TaskStageRow['status']
type CheckStatus = PolicyCheckRow['status']

/** What is known about a run when its policies have spoken. */
export interface RunFacts {
  readonly run: Pick<
    RunRow,
    'planOnly' | 'hasChanges' | 'allowEmptyApply' | 'autoApply' | 'execution'
  >
  /** Undefined where no set is evaluated in a stage. */
  readonly stage: StageStatus | undefined
  /** What the check comes to when it is its turn; undefined where no set is checked. */
  readonly check: CheckStatus | undefined
}

/** Where a run goes next, and what becomes of the check on the way. */
export interface RunProgress {
  /** The statuses it passes, the last of which it stays in. */
  readonly path: readonly v2.RunStatus[]
  readonly check: CheckStatus | undefined
}

/** From the end of the plan, or from an override of the stage. First the stage, then the check. */
export function afterStage(facts: RunFacts): RunProgress {
  const { run, stage } = facts
  if (stage === 'awaiting_override')
    return {
      // Clients that execute runs here know a status of its own for it.
      path: [run.execution === undefined ? 'policy_override' : 'post_plan_awaiting_decision'],
      check: held(facts),
    }
  // Of a speculative run the stage alone tells that it failed.
  if (stage === 'failed' && !run.planOnly) return { path: ['errored'], check: lost(facts) }
  const checked = afterCheck(facts)
  if (facts.check === undefined)
    return { ...checked, path: ['post_plan_completed', ...checked.path] }
  return { ...checked, path: ['post_plan_completed', 'policy_checking', ...checked.path] }
}

/** From the check, or from an override of it. */
export function afterCheck({ run, check }: Omit<RunFacts, 'stage'>): RunProgress {
  switch (check) {
    case 'hard_failed':
    case 'errored':
      return { path: ['errored'], check }
    case 'soft_failed':
      return { path: [mayGoOn(run) ? 'policy_override' : 'policy_soft_failed'], check }
    case undefined:
      return { path: afterPolicies(run), check }
    default:
      return { path: ['policy_checked', ...afterPolicies(run)], check }
  }
}

/** What follows when no policy is in the way: an end, an apply, or the wait for one. */
export function afterPolicies(run: RunFacts['run']): readonly v2.RunStatus[] {
  if (!mayGoOn(run)) return ['planned_and_finished']
  if (run.execution?.savePlan === true) return ['planned_and_saved']
  return run.autoApply ? ['confirmed'] : []
}

/**
 * Whether anything can follow the plan. Otherwise there is nothing to override for: a speculative
 * run and a plan without changes do not pause.
 */
export function mayGoOn({ planOnly, hasChanges, allowEmptyApply }: RunFacts['run']): boolean {
  return !planOnly && (hasChanges || allowEmptyApply)
}

function held({ check }: RunFacts): CheckStatus | undefined {
  return check === undefined ? undefined : 'pending'
}

function lost({ check }: RunFacts): CheckStatus | undefined {
  return check === undefined ? undefined : 'unreachable'
}
