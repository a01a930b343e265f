import type { v2 } from '@reeve/contract'
import { scopedKey, type Tables } from '../../state/index.ts'
import { currentState } from '../state-versions/state-versions.ts'
import { keysByCreation } from '../by-creation.ts'
import { locksForPlan } from '../runs/execution/queue.ts'
import { activeStatuses } from '../runs/run-states.ts'

/** Information about a workspace derived from its runs. */
export interface WorkspaceRunSummary {
  /** The run that holds the lock, that is next, or that is the newest one. */
  readonly currentRunId: string | null
  readonly latestRunId: string | null
  /** Whether an unfinished run exists. */
  readonly isActive: boolean
  /** Number of resources in the current state; without a state, as of the last applied plan. */
  readonly resourceCount: number
  readonly policyCheckFailures: number
  readonly runFailures: number
}

export function summarizeRuns(tables: Tables, workspaceId: string): WorkspaceRunSummary {
  const count = (status: v2.RunStatus): number =>
    tables.runs.countByIndex('workspaceStatus', scopedKey(workspaceId, status))
  const [latestRunId = null] = newestRunIds(tables, 'workspace', workspaceId)
  return {
    currentRunId: findCurrentRun(tables, workspaceId) ?? null,
    latestRunId,
    isActive: activeStatuses().some((status) => count(status) > 0),
    resourceCount: countResources(tables, workspaceId),
    policyCheckFailures: tables.policy_checks.countByIndex('failed', workspaceId),
    runFailures: count('errored'),
  }
}

/**
 * Returns the run that holds the lock; without one, the run that is next in the queue, or else the
 * newest run that is not speculative. Clients that wait read from it what they wait for.
 */
function findCurrentRun(tables: Tables, workspaceId: string): string | undefined {
  const lock = tables.workspaces.find(workspaceId)?.lock ?? null
  if (lock?.byType === 'runs' && tables.runs.has(lock.byId)) return lock.byId
  const waiting = keysByCreation(tables.runs, 'workspaceStatus', scopedKey(workspaceId, 'pending'))
  const next = waiting.find((id) => {
    const run = tables.runs.get(id)
    return run.execution !== undefined && locksForPlan(run)
  })
  if (next !== undefined) return next
  return newestRunIds(tables, 'workspace', workspaceId).find((id) => !tables.runs.get(id).planOnly)
}

/** Returns the workspaces of an organization whose current run has one of these statuses. */
export function workspaceIdsByRunStatus(
  tables: Tables,
  organizationId: string,
  statuses: readonly string[],
): ReadonlySet<string> {
  const { runs } = tables
  const found = new Set<string>()
  for (const status of statuses)
    for (const runId of runs.keysByIndex('status', status)) {
      // The index key contains the workspace, so the row is not decoded.
      const workspaceId = runs.indexKeyOf('workspace', runId)
      if (workspaceId === undefined || runs.indexKeyOf('organization', runId) !== organizationId)
        continue
      if (findCurrentRun(tables, workspaceId) === runId) found.add(workspaceId)
    }
  return found
}

/** Returns the workspaces of an organization that have a current run, the oldest run first. */
export function workspaceIdsByCurrentRun(
  tables: Tables,
  organizationId: string,
): readonly string[] {
  const { runs, workspaces } = tables
  const ages = new Map<string, number>()
  for (const id of workspaces.keysByIndex('organization', organizationId)) {
    const runId = findCurrentRun(tables, id)
    if (runId !== undefined) ages.set(id, runs.createIndexOf(runId) ?? 0)
  }
  return [...ages].toSorted(([, a], [, b]) => a - b).map(([id]) => id)
}

/** Iterates without decoding rows, because a workspace may have many runs. */
function newestRunIds(
  { runs }: Tables,
  index: 'workspace' | 'workspaceStatus',
  group: string,
): readonly string[] {
  const createIndexOf = (id: string): number => runs.createIndexOf(id) ?? 0
  return [...runs.keysByIndex(index, group)].toSorted((a, b) => createIndexOf(b) - createIndexOf(a))
}

function countResources(tables: Tables, workspaceId: string): number {
  const state = currentState(tables, workspaceId)
  if (state !== undefined) return state.resourceCount
  const [applied] = newestRunIds(tables, 'workspaceStatus', scopedKey(workspaceId, 'applied'))
  if (applied === undefined) return 0
  return tables.run_plans.find(tables.runs.get(applied).planId)?.counts.resources ?? 0
}
