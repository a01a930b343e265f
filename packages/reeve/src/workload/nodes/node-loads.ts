import type { TopologyLoad } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isClientTerminal, type AllocationRow } from '../../model/index.ts'
import type { Store, TableObserver } from '../../state/index.ts'

/**
 * Aggregated load of each node, for the topology. Computed on first use, which decodes the node's
 * allocations, and again after one of them has changed.
 */
export class NodeLoadCache implements TableObserver<'allocations'> {
  readonly #store: Store
  readonly #loads = new Map<string, readonly TopologyLoad[]>()
  #isObserving = false

  constructor(store: Store) {
    this.#store = store
  }

  /** Returns the number of rows that `of` decodes for this node. */
  costOf(nodeId: string): number {
    return this.#loads.has(nodeId) ? 0 : this.#store.tables.allocations.countByIndex('node', nodeId)
  }

  loadsOf(nodeId: string): readonly TopologyLoad[] {
    // Observe allocations only once the topology is used.
    if (!this.#isObserving) this.#store.observe('allocations', this)
    this.#isObserving = true
    const cached = this.#loads.get(nodeId)
    if (cached !== undefined) return cached
    const loads = aggregateLoads(this.#store.tables.allocations.rowsByIndex('node', nodeId))
    this.#loads.set(nodeId, loads)
    return loads
  }

  changed(before: AllocationRow | undefined, after: AllocationRow | undefined): void {
    const isSame =
      before?.ClientStatus === after?.ClientStatus &&
      before?.AllocatedResources === after?.AllocatedResources
    if (isSame) return
    if (before !== undefined) this.#loads.delete(before.NodeID)
    if (after !== undefined) this.#loads.delete(after.NodeID)
  }

  reset(): void {
    this.#loads.clear()
  }
}

function aggregateLoads(rows: readonly AllocationRow[]): readonly TopologyLoad[] {
  const counts = new Map<string, { load: Omit<TopologyLoad, 'Count'>; Count: number }>()
  for (const row of rows) {
    if (isClientTerminal(row)) continue
    const load = allocationLoad(row)
    const key = `${load.Namespace}!${load.ClientStatus}!${load.CPU}!${load.MemoryMB}`
    const existing = counts.get(key)
    if (existing === undefined) counts.set(key, { load, Count: 1 })
    else existing.Count += 1
  }
  return [...counts.values()].map(({ load, Count }) => ({ ...load, Count })).toSorted(compareLoads)
}

/** Sums the resources of the tasks, as `Resources` of an allocation does. */
function allocationLoad({ Namespace, ClientStatus, AllocatedResources }: AllocationRow) {
  const tasks = Object.values(AllocatedResources.Tasks)
  return {
    Namespace,
    ClientStatus,
    CPU: tasks.reduce((sum, { Cpu }) => sum + Cpu.CpuShares, 0),
    MemoryMB: tasks.reduce((sum, { Memory }) => sum + Memory.MemoryMB, 0),
  }
}

const STATUS_ORDER = {
  running: 0,
  pending: 1,
  unknown: 2,
  complete: 3,
  failed: 4,
  lost: 5,
} as const

function compareLoads(a: TopologyLoad, b: TopologyLoad): number {
  return (
    compareText(a.Namespace, b.Namespace) ||
    STATUS_ORDER[a.ClientStatus] - STATUS_ORDER[b.ClientStatus] ||
    b.MemoryMB - a.MemoryMB ||
    b.CPU - a.CPU
  )
}
