import type { v2 } from '@reeve/contract'
import { scopedKey, type Tables } from '../../state/index.ts'
import { currentState } from '../state-versions/state-versions.ts'
import { openStatuses } from '../runs/run-states.ts'

/** What the runs of a workspace say about it. */
export interface WorkspaceRuns {
  /** The newest that is more than a look ahead. */
  readonly currentRunId: string | null
  readonly latestRunId: string | null
  /** A run of it is on its way. */
  readonly isActive: boolean
  /** As the current state has them; without one, as the last plan that was applied left them. */
  readonly resourceCount: number
  readonly policyCheckFailures: number
  readonly runFailures: number
}

export function runsOf(tables: Tables, workspaceId: string): WorkspaceRuns {
  const count = (status: v2.RunStatus): number =>
    tables.runs.countIn('workspaceStatus', scopedKey(workspaceId, status))
  const [latestRunId = null] = newestFirst(tables, 'workspace', workspaceId)
  return {
    currentRunId: findCurrentRun(tables, workspaceId) ?? null,
    latestRunId,
    isActive: openStatuses().some((status) => count(status) > 0),
    resourceCount: resourcesOf(tables, workspaceId),
    policyCheckFailures: tables.policy_checks.countIn('failed', workspaceId),
    runFailures: count('errored'),
  }
}

/** The newest run that is not speculative. */
function findCurrentRun(tables: Tables, workspaceId: string): string | undefined {
  return newestFirst(tables, 'workspace', workspaceId).find((id) => !tables.runs.get(id).planOnly)
}

/** The workspaces of an organization whose current run has one of these statuses. */
export function workspacesInStatus(
  tables: Tables,
  organizationId: string,
  statuses: readonly string[],
): ReadonlySet<string> {
  const { runs } = tables
  const found = new Set<string>()
  for (const status of statuses)
    for (const runId of runs.keysIn('status', status)) {
      // Known without reading the row.
      const workspaceId = runs.groupOf('workspace', runId)
      if (workspaceId === undefined || runs.groupOf('organization', runId) !== organizationId)
        continue
      if (findCurrentRun(tables, workspaceId) === runId) found.add(workspaceId)
    }
  return found
}

/** The workspaces of an organization that have a current run, the oldest run first. */
export function byCurrentRun(tables: Tables, organizationId: string): readonly string[] {
  const { runs, workspaces } = tables
  const ages = new Map<string, number>()
  for (const id of workspaces.keysIn('organization', organizationId)) {
    const runId = findCurrentRun(tables, id)
    if (runId !== undefined) ages.set(id, runs.createIndexOf(runId) ?? 0)
  }
  return [...ages].toSorted(([, a], [, b]) => a - b).map(([id]) => id)
}

/** Without reading the rows: a workspace may have had many. */
function newestFirst(
  { runs }: Tables,
  index: 'workspace' | 'workspaceStatus',
  group: string,
): readonly string[] {
  const ageOf = (id: string): number => runs.createIndexOf(id) ?? 0
  return [...runs.keysIn(index, group)].toSorted((a, b) => ageOf(b) - ageOf(a))
}

function resourcesOf(tables: Tables, workspaceId: string): number {
  const state = currentState(tables, workspaceId)
  if (state !== undefined) return state.resourceCount
  const [applied] = newestFirst(tables, 'workspaceStatus', scopedKey(workspaceId, 'applied'))
  if (applied === undefined) return 0
  return tables.run_plans.find(tables.runs.get(applied).planId)?.counts.resources ?? 0
}
