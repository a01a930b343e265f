import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type PolicyCheckRow,
  type PolicyEvaluationRow,
  type PolicySetOutcomeRow,
  type RunPlanRow,
  type RunRow,
  type TaskStageRow,
} from '../../model/index.ts'
import { scopedKey, type Tables } from '../../state/index.ts'
import { type GovernanceCaller, usernameOf } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'

/** A run that the caller may read, with its plan and the caller's permissions on the workspace. */
export interface VisibleRun extends VisibleWorkspace {
  readonly run: RunRow
  readonly plan: RunPlanRow
}

interface RunLookup {
  readonly runId: string
  /** Permission that the caller needs on the workspace. */
  readonly right: WorkspaceRight
}

/** Returns a run; read access to a workspace includes its runs. */
export function findRun(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { runId, right }: RunLookup,
): Result<VisibleRun, GovernanceRefusal> {
  const { runs, run_plans: plans } = context.store.tables
  const run = runs.find(runId)
  if (run === undefined) return err(NOT_FOUND)
  const address = { workspaceId: run.workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right })
  return found.ok ? ok({ ...found.value, run, plan: plans.get(run.planId) }) : found
}

/** Returns the run that the ID belongs to. */
function findRunOf(
  context: GovernanceContext,
  caller: GovernanceCaller,
  reference: {
    readonly row: { readonly runId: string } | undefined
    readonly right: WorkspaceRight
  },
): Result<VisibleRun, GovernanceRefusal> {
  const { row, right } = reference
  return row === undefined ? err(NOT_FOUND) : findRun(context, caller, { runId: row.runId, right })
}

export function findPlan(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { planId, right }: { readonly planId: string; readonly right: WorkspaceRight },
): Result<VisibleRun, GovernanceRefusal> {
  return findRunOf(context, caller, { row: context.store.tables.run_plans.find(planId), right })
}

export function findApply(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { applyId, right }: { readonly applyId: string; readonly right: WorkspaceRight },
): Result<VisibleRun, GovernanceRefusal> {
  const [runId] = context.store.tables.runs.keysByIndex('apply', applyId)
  return runId === undefined ? err(NOT_FOUND) : findRun(context, caller, { runId, right })
}

export interface VisibleCheck extends VisibleRun {
  readonly check: PolicyCheckRow
}

export function findCheck(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { checkId, right }: { readonly checkId: string; readonly right: WorkspaceRight },
): Result<VisibleCheck, GovernanceRefusal> {
  const row = context.store.tables.policy_checks.find(checkId)
  const found = findRunOf(context, caller, { row, right })
  return found.ok && row !== undefined
    ? ok({ ...found.value, check: row })
    : err(refusalFrom(found))
}

export interface VisibleStage extends VisibleRun {
  readonly stage: TaskStageRow
}

export function findStage(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { stageId, right }: { readonly stageId: string; readonly right: WorkspaceRight },
): Result<VisibleStage, GovernanceRefusal> {
  const row = context.store.tables.task_stages.find(stageId)
  const found = findRunOf(context, caller, { row, right })
  return found.ok && row !== undefined
    ? ok({ ...found.value, stage: row })
    : err(refusalFrom(found))
}

export function findEvaluation(
  context: GovernanceContext,
  caller: GovernanceCaller,
  evaluationId: string,
): Result<PolicyEvaluationRow, GovernanceRefusal> {
  const row = context.store.tables.policy_evaluations.find(evaluationId)
  const found = findRunOf(context, caller, { row, right: 'read' })
  return found.ok && row !== undefined ? ok(row) : err(refusalFrom(found))
}

export function findSetOutcome(
  context: GovernanceContext,
  caller: GovernanceCaller,
  outcomeId: string,
): Result<PolicySetOutcomeRow, GovernanceRefusal> {
  const row = context.store.tables.policy_set_outcomes.find(outcomeId)
  const found = findRunOf(context, caller, { row, right: 'read' })
  return found.ok && row !== undefined ? ok(row) : err(refusalFrom(found))
}

function refusalFrom(visible: Result<unknown, GovernanceRefusal>): GovernanceRefusal {
  return visible.ok ? NOT_FOUND : visible.error
}

/** Returns the policy check of a run; undefined if there is none. */
export function findPolicyCheck(tables: Tables, runId: string): PolicyCheckRow | undefined {
  return tables.policy_checks.rowsByIndex('run', runId)[0]
}

/** Returns the task stage of a run; undefined if there is none. */
export function findTaskStage(tables: Tables, runId: string): TaskStageRow | undefined {
  return tables.task_stages.rowsByIndex('run', runId)[0]
}

/** Returns the evaluations of a stage: one per kind, `native` before `opa`. */
export function listEvaluations(tables: Tables, stageId: string): readonly PolicyEvaluationRow[] {
  return tables.policy_evaluations
    .rowsByIndex('stage', stageId)
    .toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0))
}

/** Returns the outcomes of the sets of an evaluation, by name. */
export function listOutcomes(tables: Tables, evaluationId: string): readonly PolicySetOutcomeRow[] {
  return tables.policy_set_outcomes
    .rowsByIndex('evaluation', evaluationId)
    .toSorted((a, b) => a.position - b.position)
}

/** Filters of a run list. A run must match all of them; a list matches if it contains the value. */
export interface RunFilter {
  readonly statuses?: readonly string[] | undefined
  readonly operations?: readonly string[] | undefined
  readonly sources?: readonly string[] | undefined
  /** Name of the user who created the run. */
  readonly user?: string | undefined
  /** Prefix of the commit. */
  readonly commit?: string | undefined
  /** Substring of the ID, message, commit or user, ignoring case. */
  readonly text?: string | undefined
}

interface RunListRequest {
  readonly workspaceId: string
  readonly filter: RunFilter
  readonly offset: number
  readonly limit: number
}

/** Lists the runs of a workspace, newest first. */
export function listRuns(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, filter, offset, limit }: RunListRequest,
): Result<{ readonly runs: readonly VisibleRun[]; readonly total: number }, GovernanceRefusal> {
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'read' })
  if (!found.ok) return found
  const { tables } = context.store
  const restrictTo = matchingRunIds(context, workspaceId, filter)
  const page = {
    scope: workspaceId,
    order: 'newest',
    restrictTo,
    skip: offset,
    take: limit,
  } as const
  const { keys, total } = context.lists.runs.page(page)
  return ok({
    total,
    runs: keys.map((id) => {
      const run = tables.runs.get(id)
      return { ...found.value, run, plan: tables.run_plans.get(run.planId) }
    }),
  })
}

/** Returns the keys of matching runs; undefined if no filter is set. */
function matchingRunIds(
  context: GovernanceContext,
  workspaceId: string,
  filter: RunFilter,
): ReadonlySet<string> | undefined {
  const { runs } = context.store.tables
  const { statuses, ...rowFilter } = filter
  const isFiltered = Object.values(rowFilter).some((value) => value !== undefined)
  if (statuses === undefined && !isFiltered) return undefined
  const rows =
    statuses === undefined
      ? runs.rowsByIndex('workspace', workspaceId)
      : statuses.flatMap((status) =>
          runs.rowsByIndex('workspaceStatus', scopedKey(workspaceId, status)),
        )
  return new Set(
    rows
      .filter((run) =>
        matchesFilter(
          run,
          usernameOf(context, { userId: run.createdById, fallbackName: run.createdByName }),
          rowFilter,
        ),
      )
      .map(({ id }) => id),
  )
}

function matchesFilter(
  run: RunRow,
  username: string,
  { operations, sources, user, commit, text }: RunFilter,
): boolean {
  if (operations !== undefined && !operations.includes(runOperation(run))) return false
  if (sources !== undefined && !sources.includes(run.source)) return false
  if (user !== undefined && user !== '' && username !== user) return false
  if (commit !== undefined && commit !== '' && run.commitSha?.startsWith(commit) !== true)
    return false
  if (text === undefined) return true
  const searched = [run.id, run.message, run.commitSha, username]
  return searched.some((value) => value?.toLowerCase().includes(text.toLowerCase()) === true)
}

function runOperation({ planOnly, isDestroy, refreshOnly, allowEmptyApply }: RunRow): string {
  if (planOnly) return 'plan_only'
  if (isDestroy) return 'destroy'
  if (refreshOnly) return 'refresh_only'
  return allowEmptyApply ? 'empty_apply' : 'plan_and_apply'
}
