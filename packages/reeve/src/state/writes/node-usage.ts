import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  NO_USAGE,
  removeFromUsage,
  type AllocationRow,
  type NodeUsage,
  type UsageColumns,
} from '../../model/index.ts'
import type { Store } from '../store.ts'
import type { TableObserver } from '../schema/tables.ts'

/**
 * Resources used by allocations per node, updated row by row: the scheduler needs them for every
 * placement and must not add up a node's allocations each time.
 */
export class NodeUsageTracker implements TableObserver<'allocations'> {
  readonly #store: Store
  #columns: UsageTable

  constructor(store: Store) {
    this.#store = store
    this.#columns = new UsageTable((nodeId) => this.#recompute(nodeId))
    store.observe('allocations', this)
  }

  /** Replaced by a new object when cached values must be discarded. */
  get columns(): UsageColumns {
    return this.#columns
  }

  of(nodeId: string): NodeUsage {
    return this.#columns.of(nodeId)
  }

  changed(before: AllocationRow | undefined, after: AllocationRow | undefined): void {
    if (before !== undefined && after !== undefined && usesSameResources(before, after)) return
    if (before !== undefined && holdsResources(before)) this.#adjust(before, removeFromUsage)
    if (after !== undefined && holdsResources(after)) this.#adjust(after, addToUsage)
  }

  reset(): void {
    this.#columns = new UsageTable((nodeId) => this.#recompute(nodeId))
  }

  #adjust(row: AllocationRow, change: typeof addToUsage): void {
    // Nodes are computed on first use.
    if (!this.#columns.has(row.NodeID)) return
    const usage = this.#columns.of(row.NodeID)
    this.#columns.set(row.NodeID, change(usage, chargeOf(row.AllocatedResources)))
  }

  #recompute(nodeId: string): NodeUsage {
    return this.#store.tables.allocations
      .rowsByIndex('node', nodeId)
      .filter(holdsResources)
      .reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
  }
}

const INITIAL_SLOTS = 64

/**
 * A slot for every node queried since the start. A purged node keeps its slot, which costs as much
 * as its ID.
 */
class UsageTable implements UsageColumns {
  readonly #slots = new Map<string, number>()
  /** The usage as objects, which include cores, ports and devices. */
  readonly #usages: NodeUsage[] = []
  readonly #recompute: (nodeId: string) => NodeUsage
  cpuShares = new Float64Array(INITIAL_SLOTS)
  memoryMB = new Float64Array(INITIAL_SLOTS)
  diskMB = new Float64Array(INITIAL_SLOTS)
  hasDiscreteUsage = new Uint8Array(INITIAL_SLOTS)

  constructor(addUp: (nodeId: string) => NodeUsage) {
    this.#recompute = addUp
  }

  has(nodeId: string): boolean {
    return this.#slots.has(nodeId)
  }

  slotOf(nodeId: string): number {
    const existing = this.#slots.get(nodeId)
    if (existing !== undefined) return existing
    const slot = this.#slots.size
    if (slot === this.cpuShares.length) this.#grow()
    this.#slots.set(nodeId, slot)
    this.#write(slot, this.#recompute(nodeId))
    return slot
  }

  of(nodeId: string): NodeUsage {
    return this.#usages[this.slotOf(nodeId)] ?? NO_USAGE
  }

  set(nodeId: string, usage: NodeUsage): void {
    this.#write(this.slotOf(nodeId), usage)
  }

  #write(slot: number, usage: NodeUsage): void {
    this.#usages[slot] = usage
    this.cpuShares[slot] = usage.cpuShares
    this.memoryMB[slot] = usage.memoryMB
    this.diskMB[slot] = usage.diskMB
    this.hasDiscreteUsage[slot] =
      usage.cores.size + usage.ports.size + usage.devices.size > 0 ? 1 : 0
  }

  #grow(): void {
    const length = this.cpuShares.length * 2
    const grown = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const next = new Float64Array(length)
      next.set(column)
      return next
    }
    this.cpuShares = grown(this.cpuShares)
    this.memoryMB = grown(this.memoryMB)
    this.diskMB = grown(this.diskMB)
    const special = new Uint8Array(length)
    special.set(this.hasDiscreteUsage)
    this.hasDiscreteUsage = special
  }
}

/** True until its node reports that it has ended, whatever its desired status. */
function holdsResources(row: AllocationRow): boolean {
  return !isClientTerminal(row)
}

function usesSameResources(before: AllocationRow, after: AllocationRow): boolean {
  return (
    holdsResources(before) === holdsResources(after) &&
    before.NodeID === after.NodeID &&
    before.AllocatedResources === after.AllocatedResources
  )
}
