import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  NO_USAGE,
  removeFromUsage,
  type AllocationRow,
  type NodeUsage,
  type UsageColumns,
} from '../model/index.ts'
import type { Store } from './store.ts'
import type { TableObserver } from './tables.ts'

/**
 * What allocations hold of each node, kept current row by row: the scheduler asks for it at every
 * placement and must not add up a node's allocations each time.
 */
export class NodeUsages implements TableObserver<'allocations'> {
  readonly #store: Store
  #columns: Columns

  constructor(store: Store) {
    this.#store = store
    this.#columns = new Columns((nodeId) => this.#addUp(nodeId))
    store.observe('allocations', this)
  }

  /** Another object when what it told before no longer holds. */
  get columns(): UsageColumns {
    return this.#columns
  }

  of(nodeId: string): NodeUsage {
    return this.#columns.of(nodeId)
  }

  changed(before: AllocationRow | undefined, after: AllocationRow | undefined): void {
    if (before !== undefined && after !== undefined && isSameHold(before, after)) return
    if (before !== undefined && occupies(before)) this.#adjust(before, removeFromUsage)
    if (after !== undefined && occupies(after)) this.#adjust(after, addToUsage)
  }

  reset(): void {
    this.#columns = new Columns((nodeId) => this.#addUp(nodeId))
  }

  #adjust(row: AllocationRow, change: typeof addToUsage): void {
    // Nobody asked for this node yet: it is added up when somebody does.
    if (!this.#columns.knows(row.NodeID)) return
    const usage = this.#columns.of(row.NodeID)
    this.#columns.set(row.NodeID, change(usage, chargeOf(row.AllocatedResources)))
  }

  #addUp(nodeId: string): NodeUsage {
    return this.#store.tables.allocations
      .rowsIn('node', nodeId)
      .filter(occupies)
      .reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
  }
}

const SLOTS_AT_FIRST = 64

/**
 * A slot for every node that was asked for since the start; a node that is gone keeps its slot,
 * which costs as much as its ID.
 */
class Columns implements UsageColumns {
  readonly #slots = new Map<string, number>()
  /** The usage as an object, which alone has cores, ports and devices. */
  readonly #usages: NodeUsage[] = []
  readonly #addUp: (nodeId: string) => NodeUsage
  cpuShares = new Float64Array(SLOTS_AT_FIRST)
  memoryMB = new Float64Array(SLOTS_AT_FIRST)
  diskMB = new Float64Array(SLOTS_AT_FIRST)
  special = new Uint8Array(SLOTS_AT_FIRST)

  constructor(addUp: (nodeId: string) => NodeUsage) {
    this.#addUp = addUp
  }

  knows(nodeId: string): boolean {
    return this.#slots.has(nodeId)
  }

  slotOf(nodeId: string): number {
    const known = this.#slots.get(nodeId)
    if (known !== undefined) return known
    const slot = this.#slots.size
    if (slot === this.cpuShares.length) this.#grow()
    this.#slots.set(nodeId, slot)
    this.#write(slot, this.#addUp(nodeId))
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
    this.special[slot] = usage.cores.size + usage.ports.size + usage.devices.size > 0 ? 1 : 0
  }

  #grow(): void {
    const length = this.cpuShares.length * 2
    const longer = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const next = new Float64Array(length)
      next.set(column)
      return next
    }
    this.cpuShares = longer(this.cpuShares)
    this.memoryMB = longer(this.memoryMB)
    this.diskMB = longer(this.diskMB)
    const special = new Uint8Array(length)
    special.set(this.special)
    this.special = special
  }
}

/** Until its node says that it has ended, whatever the servers want. */
function occupies(row: AllocationRow): boolean {
  return !isClientTerminal(row)
}

function isSameHold(before: AllocationRow, after: AllocationRow): boolean {
  return (
    occupies(before) === occupies(after) &&
    before.NodeID === after.NodeID &&
    before.AllocatedResources === after.AllocatedResources
  )
}
