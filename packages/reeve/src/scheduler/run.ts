import type { Evaluation, Job } from '@reeve/contract'
import {
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
} from '../model/index.ts'
import { NO_UPDATES, type Outcome } from './outcome.ts'
import { byName } from './reconcile/classify.ts'
import { isGone } from './reconcile/gone.ts'
import { REASONS } from './reconcile/reasons.ts'
import type { ClusterView, SchedulingContext } from './view.ts'

/** What the ways of scheduling have in common. */
export interface Run {
  readonly view: ClusterView
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
  readonly job: Job
  /** Every allocation of the job's ID. */
  readonly rows: readonly AllocationRow[]
  readonly outcome: Outcome
}

/** What a stop writes into an allocation. The end of a lost one nobody else can report. */
export function stopped(reason: string, lost = false): Partial<AllocationRow> {
  return { DesiredDescription: reason, ...(lost ? { ClientStatus: 'lost' } : {}) }
}

export interface StopAllOptions {
  readonly reason: string
  readonly outcome: Outcome
  readonly findNode: (id: string) => PublicNode | undefined
}

/** Ends whatever has not ended: its job is stopped or gone, or no longer has the group. */
export function stopAll(
  rows: readonly AllocationRow[],
  { reason, outcome, findNode }: StopAllOptions,
): readonly AllocationRow[] {
  const live = rows.filter((row) => !isServerTerminal(row) && !isClientTerminal(row))
  const counts = new Map<string, number>()
  for (const row of live.toSorted(byName)) {
    const lost = isGone(findNode(row.NodeID))
    outcome.stop(row, stopped(lost ? REASONS.lost : reason, lost))
    counts.set(row.TaskGroup, (counts.get(row.TaskGroup) ?? 0) + 1)
  }
  for (const [group, count] of counts) outcome.desire(group, { ...NO_UPDATES, Stop: count })
  return live
}
