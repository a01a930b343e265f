import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  chargeOf,
  isClientTerminal,
  isServerTerminal,
  removeFromUsage,
  type AllocationRow,
  type ResourceCharge,
  type NodeUsage,
} from '../../model/index.ts'
import type { PlacementView } from '../cluster-view.ts'

/** Minimum difference in priority between a job and the allocations that it preempts. */
const PRIORITY_DIFFERENCE_MIN = 10

/** An allocation that may be preempted. */
export interface Victim {
  readonly row: AllocationRow
  readonly priority: number
  readonly charge: ResourceCharge
  /** Key of its job and group. */
  readonly group: string
  /** Number of allocations of the group that may be preempted before others are preferred. */
  readonly maxParallel: number
}

/**
 * Returns the allocations on a node that the job may preempt, by priority (lowest first), then by
 * ID.
 */
export function preemptibleOn(nodeId: string, job: Job, view: PlacementView): readonly Victim[] {
  const victims: Victim[] = []
  for (const row of view.allocationsOn(nodeId)) {
    if (isClientTerminal(row) || isServerTerminal(row)) continue
    if (row.JobID === job.ID && row.Namespace === job.Namespace) continue
    const otherJob = view.jobVersionOf(row)
    // Without a job version the priority is unknown.
    if (otherJob === undefined || otherJob.Priority > job.Priority - PRIORITY_DIFFERENCE_MIN)
      continue
    const group = otherJob.TaskGroups.find((one) => one.Name === row.TaskGroup)
    victims.push({
      row,
      priority: otherJob.Priority,
      charge: chargeOf(row.AllocatedResources),
      group: JSON.stringify([row.Namespace, row.JobID, row.TaskGroup]),
      maxParallel: group?.Migrate?.MaxParallel ?? 0,
    })
  }
  return victims.toSorted((a, b) => a.priority - b.priority || compareText(a.row.ID, b.row.ID))
}

/** Usage of a node without the victims. */
export function usageWithout(usage: NodeUsage, victims: readonly Victim[]): NodeUsage {
  return victims.reduce((left, { charge }) => removeFromUsage(left, charge), usage)
}

/** Number of victims in the plan so far, by group. */
export class PlannedVictims {
  readonly #counts = new Map<string, number>()
  #total = 0

  /** Total number of victims. Cached options with a smaller count may be outdated. */
  get count(): number {
    return this.#total
  }

  add({ group }: Victim): void {
    this.#total += 1
    this.#counts.set(group, this.countOf(group) + 1)
  }

  countOf(group: string): number {
    return this.#counts.get(group) ?? 0
  }
}
