import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  removeFromUsage,
  type AllocationRow,
  type NodeUsage,
} from '../model/index.ts'
import type { ClusterView } from './cluster-view.ts'

/** Addition or removal of one allocation of the job in the proposed state. */
export interface ProposedChange {
  readonly nodeId: string
  readonly group: string
  readonly delta: 1 | -1
}

/**
 * The cluster after the plan so far: allocations that nodes have not reported as terminated, minus
 * the stops of the plan, plus its placements.
 */
export class ProposedState {
  readonly #view: Pick<ClusterView, 'usageOn'>
  readonly #usage = new Map<string, NodeUsage>()
  readonly #counts = new Map<string, Map<string, number>>()
  readonly #changes: ProposedChange[] = []
  readonly #evicted = new Set<string>()

  /** `rows` are the allocations of the job; all others are included in the usage of their nodes. */
  constructor(view: Pick<ClusterView, 'usageOn'>, rows: readonly AllocationRow[]) {
    this.#view = view
    for (const row of rows) if (!isClientTerminal(row)) this.#count(row, 1)
  }

  /** Changes to the allocations of the job, oldest first. Readers keep their own position. */
  get changes(): readonly ProposedChange[] {
    return this.#changes
  }

  usageOn(nodeId: string): NodeUsage {
    return this.#usage.get(nodeId) ?? this.#view.usageOn(nodeId)
  }

  /** Number of allocations of the job, or of one of its groups, on a node. */
  countOn(nodeId: string, group?: string): number {
    const counts = this.#counts.get(nodeId)
    if (counts === undefined) return 0
    if (group !== undefined) return counts.get(group) ?? 0
    return [...counts.values()].reduce((sum, count) => sum + count, 0)
  }

  place(row: AllocationRow): void {
    this.#usage.set(
      row.NodeID,
      addToUsage(this.usageOn(row.NodeID), chargeOf(row.AllocatedResources)),
    )
    this.#count(row, 1)
  }

  /** Releases the resources of a stopped allocation; a terminated one holds none. */
  stop(row: AllocationRow): void {
    if (isClientTerminal(row)) return
    const charge = chargeOf(row.AllocatedResources)
    this.#usage.set(row.NodeID, removeFromUsage(this.usageOn(row.NodeID), charge))
    this.#count(row, -1)
  }

  isEvicted(row: AllocationRow): boolean {
    return this.#evicted.has(row.ID)
  }

  /** Releases the resources of a preempted allocation; repeated calls have no effect. */
  evict(row: AllocationRow): void {
    if (isClientTerminal(row) || this.#evicted.has(row.ID)) return
    this.#evicted.add(row.ID)
    const charge = chargeOf(row.AllocatedResources)
    this.#usage.set(row.NodeID, removeFromUsage(this.usageOn(row.NodeID), charge))
  }

  /** Undoes a stop, because its replacement could not be placed. */
  restore(row: AllocationRow): void {
    if (!isClientTerminal(row)) this.place(row)
  }

  #count({ NodeID: nodeId, TaskGroup: group }: AllocationRow, delta: 1 | -1): void {
    const counts = this.#counts.get(nodeId) ?? new Map<string, number>()
    counts.set(group, (counts.get(group) ?? 0) + delta)
    this.#counts.set(nodeId, counts)
    this.#changes.push({ nodeId, group, delta })
  }
}
