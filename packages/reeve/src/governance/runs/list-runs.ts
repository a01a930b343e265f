import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunRow } from '../../model/index.ts'
import { scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import type { SeenRun } from './find-run.ts'

/** Only runs that match every given member; a list matches if one of its values does. */
export interface RunFilter {
  readonly statuses?: readonly string[] | undefined
  readonly operations?: readonly string[] | undefined
  readonly sources?: readonly string[] | undefined
  /** Name of the user who created the run. */
  readonly user?: string | undefined
  /** The beginning of its commit. */
  readonly commit?: string | undefined
  /** Part of its id, message, commit or user, case ignored. */
  readonly text?: string | undefined
}

export interface RunListRequest {
  readonly workspaceId: string
  readonly filter: RunFilter
  readonly skip: number
  readonly take: number
}

/** The runs of a workspace, newest first. */
export function listRuns(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, filter, skip, take }: RunListRequest,
): Result<{ readonly runs: readonly SeenRun[]; readonly total: number }, GovernanceRefusal> {
  const seen = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'read' })
  if (!seen.ok) return seen
  const { tables } = context.store
  const within = matchingRuns(tables, workspaceId, filter)
  const page = { scope: workspaceId, order: 'newest', within, skip, take } as const
  const { keys, total } = context.lists.runs.page(page)
  return ok({
    total,
    runs: keys.map((id) => {
      const run = tables.runs.get(id)
      return { ...seen.value, run, plan: tables.run_plans.get(run.planId) }
    }),
  })
}

/** Undefined without a filter. */
function matchingRuns(
  { runs }: Tables,
  workspaceId: string,
  filter: RunFilter,
): ReadonlySet<string> | undefined {
  const { statuses, ...rest } = filter
  const isFiltered = Object.values(rest).some((value) => value !== undefined)
  if (statuses === undefined && !isFiltered) return undefined
  const rows =
    statuses === undefined
      ? runs.rowsIn('workspace', workspaceId)
      : statuses.flatMap((status) => runs.rowsIn('workspaceStatus', scopedKey(workspaceId, status)))
  return new Set(rows.filter((run) => isMatch(run, rest)).map(({ id }) => id))
}

function isMatch(run: RunRow, { operations, sources, user, commit, text }: RunFilter): boolean {
  if (operations !== undefined && !operations.includes(operationOf(run))) return false
  if (sources !== undefined && !sources.includes(run.source)) return false
  if (user !== undefined && run.createdByName !== user) return false
  if (commit !== undefined && run.commitSha?.startsWith(commit) !== true) return false
  if (text === undefined) return true
  const searched = [run.id, run.message, run.commitSha, run.createdByName]
  return searched.some((value) => value?.toLowerCase().includes(text.toLowerCase()) === true)
}

function operationOf({ planOnly, isDestroy, refreshOnly, allowEmptyApply }: RunRow): string {
  if (planOnly) return 'plan_only'
  if (isDestroy) return 'destroy'
  if (refreshOnly) return 'refresh_only'
  return allowEmptyApply ? 'empty_apply' : 'plan_and_apply'
}
