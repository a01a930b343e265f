import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  chargeOf,
  isClientTerminal,
  isServerTerminal,
  removeFromUsage,
  type AllocationRow,
  type Charge,
  type NodeUsage,
} from '../../model/index.ts'
import type { PlacementView } from '../view.ts'

/** A job displaces only what is at least this much less important. */
const PRIORITY_GAP = 10

/** An allocation that may have to go. */
export interface Victim {
  readonly row: AllocationRow
  readonly priority: number
  readonly charge: Charge
  /** Its group, whose allocations should not all go at once. */
  readonly group: string
  /** How many of the group may go at once before others are preferred. */
  readonly parallelMax: number
}

/** Allocations on a node that the job may displace, the least important first, then by ID. */
export function victimsOn(nodeId: string, job: Job, view: PlacementView): readonly Victim[] {
  const victims: Victim[] = []
  for (const row of view.allocationsOn(nodeId)) {
    if (isClientTerminal(row) || isServerTerminal(row)) continue
    if (row.JobID === job.ID && row.Namespace === job.Namespace) continue
    const theirs = view.findJobOf(row)
    // Nobody knows how important it is, so nobody displaces it.
    if (theirs === undefined || theirs.Priority > job.Priority - PRIORITY_GAP) continue
    const group = theirs.TaskGroups.find((one) => one.Name === row.TaskGroup)
    victims.push({
      row,
      priority: theirs.Priority,
      charge: chargeOf(row.AllocatedResources),
      group: JSON.stringify([row.Namespace, row.JobID, row.TaskGroup]),
      parallelMax: group?.Migrate?.MaxParallel ?? 0,
    })
  }
  return victims.toSorted((a, b) => a.priority - b.priority || compareText(a.row.ID, b.row.ID))
}

/** What is used of a node once they have gone. */
export function usageWithout(usage: NodeUsage, victims: readonly Victim[]): NodeUsage {
  return victims.reduce((left, { charge }) => removeFromUsage(left, charge), usage)
}

/** How many victims the plan has so far, by their groups. */
export class PlannedVictims {
  readonly #counts = new Map<string, number>()
  #size = 0

  /** Grows with every victim: what was worked out for an older one may no longer hold. */
  get size(): number {
    return this.#size
  }

  add({ group }: Victim): void {
    this.#size += 1
    this.#counts.set(group, this.countOf(group) + 1)
  }

  countOf(group: string): number {
    return this.#counts.get(group) ?? 0
  }
}
