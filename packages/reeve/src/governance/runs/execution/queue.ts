import { v2 } from '@reeve/contract'
import type { RunPhaseRow, RunRow } from '../../../model/index.ts'
import { WAITING_RUNS, type Tables } from '../../../state/index.ts'
import { oldestFirst } from '../../by-creation.ts'
import { isHeldBy } from './run-rows.ts'

/** Executing and pending runs of an organization. */
export interface Capacity {
  readonly pending: number
  readonly running: number
}

/** A phase that can start. */
export interface NextPhase {
  readonly run: RunRow
  readonly phase: RunPhaseRow['phase']
}

/** Returns pending runs, oldest first, optionally of one organization. */
function waitingRuns(tables: Tables, organizationId?: string): readonly RunRow[] {
  return organizationId === undefined
    ? oldestFirst(tables.runs, 'waiting', WAITING_RUNS)
    : oldestFirst(tables.runs, 'waitingIn', organizationId)
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
  const waiting = waitingRuns(tables)
  const ordered = [
    ...waiting.filter(({ status }) => status === 'confirmed'),
    ...waiting.filter(({ status }) => status === 'pending'),
  ]
  const used = new Map<string, number>()
  const taken = new Set<string>()
  const next: NextPhase[] = []
  for (const run of ordered) {
    const { organizationId, workspaceId } = run
    const count = used.get(organizationId) ?? tables.run_phases.countIn('openIn', organizationId)
    used.set(organizationId, count)
    const phase = run.status === 'confirmed' ? 'apply' : 'plan'
    const needsWorkspace = phase === 'apply' || locksForPlan(run)
    if (needsWorkspace && !isFree(tables, run, taken)) {
      // Later runs of the workspace wait behind this one.
      taken.add(workspaceId)
      continue
    }
    if (count >= phasesAtOnceMax) continue
    if (needsWorkspace) taken.add(workspaceId)
    used.set(organizationId, count + 1)
    next.push({ run, phase })
  }
  return next
}

/** Reports whether a run needs exclusive access to its workspace from the plan on. */
export function locksForPlan({ planOnly, execution }: RunRow): boolean {
  return !planOnly && execution?.savePlan !== true
}

function isFree(tables: Tables, run: RunRow, taken: ReadonlySet<string>): boolean {
  const lock = tables.workspaces.find(run.workspaceId)?.lock ?? null
  if (lock !== null) return isHeldBy(lock, run.id)
  return !taken.has(run.workspaceId)
}

/** Returns the position of a pending run in the queue, from 1; 0 if it is not pending. */
export function queuePosition(tables: Tables, run: RunRow): number {
  if (run.execution === undefined || run.status !== 'pending') return 0
  const createIndex = tables.runs.createIndexOf(run.id) ?? 0
  const waiting = [...tables.runs.keysIn('waitingIn', run.organizationId)]
  return waiting.filter((key) => (tables.runs.createIndexOf(key) ?? 0) <= createIndex).length
}

export function capacityOf(tables: Tables, organizationId: string): Capacity {
  return {
    pending: tables.runs.countIn('waitingIn', organizationId),
    running: tables.run_phases.countIn('openIn', organizationId),
  }
}

/** Returns the pending and executing runs of an organization, oldest first. */
export function queuedRuns(tables: Tables, organizationId: string): readonly RunRow[] {
  const executing = [...tables.run_phases.keysIn('openIn', organizationId)].map((key) =>
    tables.runs.get(tables.run_phases.get(key).runId),
  )
  const ageOf = ({ id }: RunRow): number => tables.runs.createIndexOf(id) ?? 0
  return [...executing, ...waitingRuns(tables, organizationId)].toSorted(
    (a, b) => ageOf(a) - ageOf(b),
  )
}
