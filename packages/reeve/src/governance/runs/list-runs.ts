import { ok, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal, RunRow } from '../../model/index.ts'
import { scopedKey } from '../../state/index.ts'
import { usernameOf, type GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'
import type { VisibleRun } from './find-run.ts'

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

export interface RunListRequest {
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
