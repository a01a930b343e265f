import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  removeFromUsage,
  type AllocationRow,
  type NodeUsage,
} from '../model/index.ts'
import type { ClusterView } from './view.ts'

/** One allocation of the job appeared on a node or left it, in the plan so far. */
export interface ProposedChange {
  readonly nodeId: string
  readonly group: string
  readonly delta: 1 | -1
}

/**
 * The cluster as it will be after the plan so far: what nodes have not said to have ended, without
 * the plan's stops, with its placements.
 */
export class Proposed {
  readonly #view: Pick<ClusterView, 'usageOn'>
  readonly #usage = new Map<string, NodeUsage>()
  readonly #counts = new Map<string, Map<string, number>>()
  readonly #changes: ProposedChange[] = []
  readonly #evicted = new Set<string>()

  /** `rows` are the allocations of the job; all others are in the usage of their nodes. */
  constructor(view: Pick<ClusterView, 'usageOn'>, rows: readonly AllocationRow[]) {
    this.#view = view
    for (const row of rows) if (!isClientTerminal(row)) this.#count(row, 1)
  }

  /**
   * Everything that happened to the job's allocations, oldest first; readers remember how far they
   * got.
   */
  get changes(): readonly ProposedChange[] {
    return this.#changes
  }

  usageOn(nodeId: string): NodeUsage {
    return this.#usage.get(nodeId) ?? this.#view.usageOn(nodeId)
  }

  /** Allocations of the job, or of one of its groups, on a node. */
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

  /** What has ended on its node holds nothing, so stopping it frees nothing. */
  stop(row: AllocationRow): void {
    if (isClientTerminal(row)) return
    const charge = chargeOf(row.AllocatedResources)
    this.#usage.set(row.NodeID, removeFromUsage(this.usageOn(row.NodeID), charge))
    this.#count(row, -1)
  }

  isEvicted(row: AllocationRow): boolean {
    return this.#evicted.has(row.ID)
  }

  /** An allocation of another job gives up its room; once, however many tell of it. */
  evict(row: AllocationRow): void {
    if (isClientTerminal(row) || this.#evicted.has(row.ID)) return
    this.#evicted.add(row.ID)
    const charge = chargeOf(row.AllocatedResources)
    this.#usage.set(row.NodeID, removeFromUsage(this.usageOn(row.NodeID), charge))
  }

  /** Takes back a stop, because what should have come instead found no room. */
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
