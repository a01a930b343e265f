import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunRow } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import { usernameOf, type GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import type { SeenRun } from './find-run.ts'

/** Filters of a run list. A run must match all of them; a list matches if it contains the value. */
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
  const within = matchingRuns(context, workspaceId, filter)
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

/** Returns the keys of matching runs; undefined if no filter is set. */
function matchingRuns(
  context: GovernanceContext,
  workspaceId: string,
  filter: RunFilter,
): ReadonlySet<string> | undefined {
  const { runs } = context.store.tables
  const { statuses, ...rest } = filter
  const isFiltered = Object.values(rest).some((value) => value !== undefined)
  if (statuses === undefined && !isFiltered) return undefined
  const rows =
    statuses === undefined
      ? runs.rowsIn('workspace', workspaceId)
      : statuses.flatMap((status) => runs.rowsIn('workspaceStatus', scopedKey(workspaceId, status)))
  return new Set(
    rows
      .filter((run) =>
        isMatch(
          run,
          usernameOf(context, { userId: run.createdById, nameThen: run.createdByName }),
          rest,
        ),
      )
      .map(({ id }) => id),
  )
}

function isMatch(
  run: RunRow,
  username: string,
  { operations, sources, user, commit, text }: RunFilter,
): boolean {
  if (operations !== undefined && !operations.includes(operationOf(run))) return false
  if (sources !== undefined && !sources.includes(run.source)) return false
  if (user !== undefined && user !== '' && username !== user) return false
  if (commit !== undefined && commit !== '' && run.commitSha?.startsWith(commit) !== true)
    return false
  if (text === undefined) return true
  const searched = [run.id, run.message, run.commitSha, username]
  return searched.some((value) => value?.toLowerCase().includes(text.toLowerCase()) === true)
}

function operationOf({ planOnly, isDestroy, refreshOnly, allowEmptyApply }: RunRow): string {
  if (planOnly) return 'plan_only'
  if (isDestroy) return 'destroy'
  if (refreshOnly) return 'refresh_only'
  return allowEmptyApply ? 'empty_apply' : 'plan_and_apply'
}
