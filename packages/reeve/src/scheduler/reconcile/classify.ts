import type { Job, ReschedulePolicy } from '@reeve/contract'
import { compareText } from '../../kit/sorted-list.ts'
import {
  allocationIndex,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
} from '../../model/index.ts'
import { isGone } from './gone.ts'
import { decideReschedule } from './reschedule.ts'

/** The allocations of one group, by what has become of them. Each list is in order of names. */
export interface Classified {
  /** Count towards the group where they are. */
  readonly keep: readonly AllocationRow[]
  /** Must leave their node. */
  readonly migrate: readonly AllocationRow[]
  /** Their node is gone. */
  readonly lost: readonly AllocationRow[]
  /** Failed, and may be placed again now. */
  readonly failed: readonly AllocationRow[]
  /** Failed, among `keep` until they may be placed again. */
  readonly later: readonly Deferred[]
}

export interface Deferred {
  readonly row: AllocationRow
  readonly dueMs: number
}

export interface ClassifyContext {
  readonly job: Job
  readonly policy: ReschedulePolicy | null
  readonly findNode: (id: string) => PublicNode | undefined
  readonly nowMs: number
  readonly evaluationId: string
}

type Fate = 'keep' | 'migrate' | 'lost' | 'failed' | 'forget' | Deferred

/** Scheduling reference §6.2 and §6.3. */
export function classify(rows: readonly AllocationRow[], context: ClassifyContext): Classified {
  const keep: AllocationRow[] = []
  const migrate: AllocationRow[] = []
  const lost: AllocationRow[] = []
  const failed: AllocationRow[] = []
  const lists = { keep, migrate, lost, failed }
  const later: Deferred[] = []
  for (const row of rows.toSorted(byName)) {
    const fate = fateOf(row, context)
    if (fate === 'forget') continue
    if (typeof fate === 'string') {
      lists[fate].push(row)
      continue
    }
    later.push(fate)
    lists.keep.push(row)
  }
  return { ...lists, later }
}

/** By index, then by age, then by ID: a total order. */
export function byName(a: AllocationRow, b: AllocationRow): number {
  return (
    allocationIndex(a.Name) - allocationIndex(b.Name) ||
    a.CreateIndex - b.CreateIndex ||
    compareText(a.ID, b.ID)
  )
}

function fateOf(row: AllocationRow, context: ClassifyContext): Fate {
  if (isServerTerminal(row)) return fateOfStopped(row, context)
  if (isClientTerminal(row)) return fateOfEnded(row, context)
  if (row.DesiredTransition?.Migrate === true) return 'migrate'
  return isGone(context.findNode(row.NodeID)) ? 'lost' : 'keep'
}

/**
 * Told to stop. Of batch jobs, work that ended well before the stop reached it is done all the
 * same.
 */
function fateOfStopped(row: AllocationRow, { job }: ClassifyContext): Fate {
  if (row.DesiredTransition?.MigrateDisablePlacement === true) return 'keep'
  const done =
    job.Type === 'batch' &&
    row.ClientStatus === 'complete' &&
    row.DesiredTransition?.Reschedule !== true &&
    !isReplaced(row) &&
    !isOlder(row, job) &&
    !wasKilled(row)
  return done ? 'keep' : 'forget'
}

/** A task that is killed ends without failing too, so what became of it is in its events. */
function wasKilled(row: AllocationRow): boolean {
  const tasks = Object.values(row.TaskStates ?? {})
  if (tasks.length === 0) return true
  return tasks.some((task) =>
    (task.Events ?? []).some((event) => event.Type === 'Killing' || event.Type === 'Killed'),
  )
}

/** Ended on its node though it should run. */
function fateOfEnded(row: AllocationRow, context: ClassifyContext): Fate {
  const { job } = context
  if (isReplaced(row)) return 'forget'
  // A new version of a batch job runs again even where the old one has finished.
  if (job.Type === 'batch' && isOlder(row, job)) return 'forget'
  if (row.ClientStatus !== 'failed') return job.Type === 'batch' ? 'keep' : 'forget'
  const decision = decideReschedule(row, context)
  if (decision.when === 'now') return 'failed'
  return decision.when === 'later' ? { row, dueMs: decision.dueMs } : 'keep'
}

function isReplaced(row: AllocationRow): boolean {
  return row.NextAllocation !== undefined && row.NextAllocation !== ''
}

/**
 * Of an earlier version, or of a job of the same ID that was purged before this one was registered.
 */
export function isOlder(row: AllocationRow, job: Job): boolean {
  return row.CreateIndex < job.CreateIndex || row.JobVersion < job.Version
}
