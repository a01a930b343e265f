import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type GovernanceRefusal,
  type PolicyCheckRow,
  type PolicyEvaluationRow,
  type PolicySetOutcomeRow,
  type RunPlanRow,
  type RunRow,
  type TaskStageRow,
} from '../../model/index.ts'
import type { Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type SeenWorkspace } from '../workspaces/find-workspace.ts'

/** A run that the caller may read, with its plan and the caller's permissions on the workspace. */
export interface SeenRun extends SeenWorkspace {
  readonly run: RunRow
  readonly plan: RunPlanRow
}

export interface RunWish {
  readonly runId: string
  /** Permission that the caller needs on the workspace. */
  readonly right: WorkspaceRight
}

/** Returns a run; read access to a workspace includes its runs. */
export function findRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, right }: RunWish,
): Result<SeenRun, GovernanceRefusal> {
  const { runs, run_plans: plans } = context.store.tables
  const run = runs.find(runId)
  if (run === undefined) return err(UNSEEN)
  const address = { workspaceId: run.workspaceId }
  const seen = findWorkspaceWith(context, caller, { address, right })
  return seen.ok ? ok({ ...seen.value, run, plan: plans.get(run.planId) }) : seen
}

/** Returns the run that the ID belongs to. */
function findOwner(
  context: GovernanceContext,
  caller: GovernanceCaller,
  owned: { readonly row: { readonly runId: string } | undefined; readonly right: WorkspaceRight },
): Result<SeenRun, GovernanceRefusal> {
  const { row, right } = owned
  return row === undefined ? err(UNSEEN) : findRun(context, caller, { runId: row.runId, right })
}

export function findPlan(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { planId, right }: { readonly planId: string; readonly right: WorkspaceRight },
): Result<SeenRun, GovernanceRefusal> {
  return findOwner(context, caller, { row: context.store.tables.run_plans.find(planId), right })
}

export function findApply(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { applyId, right }: { readonly applyId: string; readonly right: WorkspaceRight },
): Result<SeenRun, GovernanceRefusal> {
  const [runId] = context.store.tables.runs.keysIn('apply', applyId)
  return runId === undefined ? err(UNSEEN) : findRun(context, caller, { runId, right })
}

export interface SeenCheck extends SeenRun {
  readonly check: PolicyCheckRow
}

export function findCheck(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { checkId, right }: { readonly checkId: string; readonly right: WorkspaceRight },
): Result<SeenCheck, GovernanceRefusal> {
  const row = context.store.tables.policy_checks.find(checkId)
  const seen = findOwner(context, caller, { row, right })
  return seen.ok && row !== undefined ? ok({ ...seen.value, check: row }) : err(refusalOf(seen))
}

export interface SeenStage extends SeenRun {
  readonly stage: TaskStageRow
}

export function findStage(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stageId, right }: { readonly stageId: string; readonly right: WorkspaceRight },
): Result<SeenStage, GovernanceRefusal> {
  const row = context.store.tables.task_stages.find(stageId)
  const seen = findOwner(context, caller, { row, right })
  return seen.ok && row !== undefined ? ok({ ...seen.value, stage: row }) : err(refusalOf(seen))
}

export function findEvaluation(
  context: GovernanceContext,
  caller: GovernanceCaller,
  evaluationId: string,
): Result<PolicyEvaluationRow, GovernanceRefusal> {
  const row = context.store.tables.policy_evaluations.find(evaluationId)
  const seen = findOwner(context, caller, { row, right: 'read' })
  return seen.ok && row !== undefined ? ok(row) : err(refusalOf(seen))
}

export function findSetOutcome(
  context: GovernanceContext,
  caller: GovernanceCaller,
  outcomeId: string,
): Result<PolicySetOutcomeRow, GovernanceRefusal> {
  const row = context.store.tables.policy_set_outcomes.find(outcomeId)
  const seen = findOwner(context, caller, { row, right: 'read' })
  return seen.ok && row !== undefined ? ok(row) : err(refusalOf(seen))
}

function refusalOf(seen: Result<unknown, GovernanceRefusal>): GovernanceRefusal {
  return seen.ok ? UNSEEN : seen.error
}

/** Returns the policy check of a run; undefined if there is none. */
export function checkOf(tables: Tables, runId: string): PolicyCheckRow | undefined {
  return tables.policy_checks.rowsIn('run', runId)[0]
}

/** Returns the task stage of a run; undefined if there is none. */
export function stageOf(tables: Tables, runId: string): TaskStageRow | undefined {
  return tables.task_stages.rowsIn('run', runId)[0]
}

/** Returns the evaluations of a stage: one per kind, `native` before `opa`. */
export function evaluationsOf(tables: Tables, stageId: string): readonly PolicyEvaluationRow[] {
  return tables.policy_evaluations
    .rowsIn('stage', stageId)
    .toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0))
}

/** Returns the outcomes of the sets of an evaluation, by name. */
export function outcomesOf(tables: Tables, evaluationId: string): readonly PolicySetOutcomeRow[] {
  return tables.policy_set_outcomes
    .rowsIn('evaluation', evaluationId)
    .toSorted((a, b) => a.position - b.position)
}
