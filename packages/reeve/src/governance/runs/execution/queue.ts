import { v2 } from '@reeve/contract'
import type { RunPhaseRow, RunRow } from '../../../model/index.ts'
import { WAITING_KEY, type Tables } from '../../../state/index.ts'
import { rowsByCreation } from '../../list-index.ts'
import { isLockedByRun } from '../run-changes.ts'

/** Executing and pending runs of an organization. */
interface QueueCounts {
  readonly pending: number
  readonly running: number
}

/** A phase that can start. */
interface NextPhase {
  readonly run: RunRow
  readonly phase: RunPhaseRow['phase']
}

/** Returns pending runs, oldest first, optionally of one organization. */
function pendingRuns(tables: Tables, organizationId?: string): readonly RunRow[] {
  return organizationId === undefined
    ? rowsByCreation(tables.runs, 'waiting', WAITING_KEY)
    : rowsByCreation(tables.runs, 'waitingIn', organizationId)
}

/**
 * Returns the phases that can start now, in order. Applies precede plans, so that confirmed runs
 * finish first. Each organization has its own limit, so organizations do not delay each other;
 * within one, runs are ordered by age. A workspace executes one run at a time, except for
 * speculative runs.
 */
export function nextPhases(
  tables: Tables,
  phasesAtOnceMax: number = v2.RUN_PHASES_AT_ONCE_MAX,
): readonly NextPhase[] {
  const pending = pendingRuns(tables)
  const ordered = [
    ...pending.filter(({ status }) => status === 'confirmed'),
    ...pending.filter(({ status }) => status === 'pending'),
  ]
  const openPhases = new Map<string, number>()
  const busyWorkspaces = new Set<string>()
  const next: NextPhase[] = []
  for (const run of ordered) {
    const { organizationId, workspaceId } = run
    const count =
      openPhases.get(organizationId) ?? tables.run_phases.countByIndex('openIn', organizationId)
    openPhases.set(organizationId, count)
    const phase = run.status === 'confirmed' ? 'apply' : 'plan'
    const needsWorkspace = phase === 'apply' || locksForPlan(run)
    if (needsWorkspace && !isWorkspaceFree(tables, run, busyWorkspaces)) {
      // Later runs of the workspace wait behind this one.
      busyWorkspaces.add(workspaceId)
      continue
    }
    if (count >= phasesAtOnceMax) continue
    if (needsWorkspace) busyWorkspaces.add(workspaceId)
    openPhases.set(organizationId, count + 1)
    next.push({ run, phase })
  }
  return next
}

/** Reports whether a run needs exclusive access to its workspace from the plan on. */
export function locksForPlan({ planOnly, execution }: RunRow): boolean {
  return !planOnly && execution?.savePlan !== true
}

function isWorkspaceFree(
  tables: Tables,
  run: RunRow,
  busyWorkspaces: ReadonlySet<string>,
): boolean {
  const lock = tables.workspaces.find(run.workspaceId)?.lock ?? null
  if (lock !== null) return isLockedByRun(lock, run.id)
  return !busyWorkspaces.has(run.workspaceId)
}

/** Returns the position of a pending run in the queue, from 1; 0 if it is not pending. */
export function queuePosition(tables: Tables, run: RunRow): number {
  if (run.execution === undefined || run.status !== 'pending') return 0
  const createIndex = tables.runs.createIndexOf(run.id) ?? 0
  const pendingKeys = [...tables.runs.keysByIndex('waitingIn', run.organizationId)]
  return pendingKeys.filter((key) => (tables.runs.createIndexOf(key) ?? 0) <= createIndex).length
}

export function queueCounts(tables: Tables, organizationId: string): QueueCounts {
  return {
    pending: tables.runs.countByIndex('waitingIn', organizationId),
    running: tables.run_phases.countByIndex('openIn', organizationId),
  }
}

/** Returns the pending and executing runs of an organization, oldest first. */
export function queuedRuns(tables: Tables, organizationId: string): readonly RunRow[] {
  const executing = [...tables.run_phases.keysByIndex('openIn', organizationId)].map((key) =>
    tables.runs.get(tables.run_phases.get(key).runId),
  )
  const createIndexOf = ({ id }: RunRow): number => tables.runs.createIndexOf(id) ?? 0
  return [...executing, ...pendingRuns(tables, organizationId)].toSorted(
    (a, b) => createIndexOf(a) - createIndexOf(b),
  )
}
