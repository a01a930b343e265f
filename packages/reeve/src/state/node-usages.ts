import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  NO_USAGE,
  removeFromUsage,
  type AllocationRow,
  type NodeUsage,
} from '../model/index.ts'
import type { Store, TableObserver } from './store.ts'

/**
 * What allocations hold of each node, kept current row by row: the scheduler asks for it at every
 * placement and must not add up a node's allocations each time.
 */
export class NodeUsages implements TableObserver<'allocations'> {
  readonly #store: Store
  readonly #usages = new Map<string, NodeUsage>()

  constructor(store: Store) {
    this.#store = store
    store.observe('allocations', this)
  }

  of(nodeId: string): NodeUsage {
    const known = this.#usages.get(nodeId)
    if (known !== undefined) return known
    const usage = this.#store.tables.allocations
      .rowsIn('node', nodeId)
      .filter(occupies)
      .reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
    this.#usages.set(nodeId, usage)
    return usage
  }

  changed(before: AllocationRow | undefined, after: AllocationRow | undefined): void {
    if (before !== undefined && after !== undefined && isSameHold(before, after)) return
    if (before !== undefined && occupies(before)) this.#adjust(before, removeFromUsage)
    if (after !== undefined && occupies(after)) this.#adjust(after, addToUsage)
  }

  reset(): void {
    this.#usages.clear()
  }

  #adjust(row: AllocationRow, change: typeof addToUsage): void {
    const usage = this.#usages.get(row.NodeID)
    // Nobody asked for this node yet: it is added up when somebody does.
    if (usage !== undefined)
      this.#usages.set(row.NodeID, change(usage, chargeOf(row.AllocatedResources)))
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
