import { compareText } from '@reeve/kit/sorted-list.ts'
import { targetReader, type PublicNode, type UsageColumns } from '../../model/index.ts'
import type { PlacementView } from '../view.ts'
import { capacityOf } from './group-ask.ts'

/** How many properties a table remembers the values of; jobs of one cluster name few. */
const PROPERTIES_KEPT = 32

/**
 * Nodes by ID, with what they have for allocations in columns. Made once for a set of nodes and
 * used by every evaluation until a node changes.
 */
export class NodeTable {
  readonly nodes: readonly PublicNode[]
  readonly cpuShares: Float64Array
  readonly memoryMB: Float64Array
  readonly diskMB: Float64Array
  readonly #places: ReadonlyMap<string, number>
  readonly #properties = new Map<string, NodeProperty>()
  #classes: NodeProperty | undefined
  #slots: { readonly of: UsageColumns; readonly slots: Int32Array } | undefined

  constructor(nodes: readonly PublicNode[]) {
    this.nodes = nodes.toSorted((a, b) => compareText(a.ID, b.ID))
    const capacities = this.nodes.map(capacityOf)
    this.cpuShares = Float64Array.from(capacities, (capacity) => capacity.cpuShares)
    this.memoryMB = Float64Array.from(capacities, (capacity) => capacity.memoryMB)
    this.diskMB = Float64Array.from(capacities, (capacity) => capacity.diskMB)
    this.#places = new Map(this.nodes.map((node, at) => [node.ID, at]))
  }

  get size(): number {
    return this.nodes.length
  }

  nodeAt(at: number): PublicNode {
    const node = this.nodes[at]
    if (node === undefined) throw new Error('invariant broken: a place is one of the table')
    return node
  }

  /** −1 when the node is none of these. */
  placeOf(nodeId: string): number {
    return this.#places.get(nodeId) ?? -1
  }

  /** The value that a target such as `${meta.rack}` has on each node. */
  propertyOf(target: string): NodeProperty {
    const known = this.#properties.get(target)
    if (known !== undefined) return known
    if (this.#properties.size >= PROPERTIES_KEPT) this.#properties.clear()
    const property = propertyFrom(this.nodes, targetReader(target))
    this.#properties.set(target, property)
    return property
  }

  /** The class of each node; nodes without one have no value. */
  get classes(): NodeProperty {
    this.#classes ??= propertyFrom(this.nodes, (node) => node.ComputedClass || undefined)
    return this.#classes
  }

  /** What allocations hold of each node as the view has it, in this table's order. */
  usage(view: PlacementView): NodeUse {
    const columns = view.usageColumns
    return columns === undefined ? this.#askEach(view) : this.#gather(columns)
  }

  #gather(columns: UsageColumns): NodeUse {
    if (this.#slots?.of !== columns) {
      const slots = Int32Array.from(this.nodes, (node) => columns.slotOf(node.ID))
      this.#slots = { of: columns, slots }
    }
    const { slots } = this.#slots
    const use = emptyUse(slots.length)
    const { cpuShares, memoryMB, diskMB, special } = columns
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] ?? 0
      use.cpuShares[at] = cpuShares[slot] ?? 0
      use.memoryMB[at] = memoryMB[slot] ?? 0
      use.diskMB[at] = diskMB[slot] ?? 0
      use.special[at] = special[slot] ?? 0
    }
    return use
  }

  #askEach(view: PlacementView): NodeUse {
    const use = emptyUse(this.nodes.length)
    for (const [at, node] of this.nodes.entries()) {
      const usage = view.usageOn(node.ID)
      use.cpuShares[at] = usage.cpuShares
      use.memoryMB[at] = usage.memoryMB
      use.diskMB[at] = usage.diskMB
      use.special[at] = 1
    }
    return use
  }
}

/** What the nodes of a table have in one property, each value spelled once. */
export interface NodeProperty {
  readonly values: readonly string[]
  /** For each value the first node that has it. */
  readonly examples: readonly PublicNode[]
  /** For each node the number of its value; −1 where it has none. */
  readonly codes: Int32Array
}

function propertyFrom(
  nodes: readonly PublicNode[],
  read: (node: PublicNode) => string | undefined,
): NodeProperty {
  const known = new Map<string, number>()
  const examples: PublicNode[] = []
  const codes = Int32Array.from(nodes, (node) => {
    const value = read(node)
    if (value === undefined) return -1
    const code = known.get(value)
    if (code !== undefined) return code
    known.set(value, examples.length)
    return examples.push(node) - 1
  })
  return { values: [...known.keys()], examples, codes }
}

/** What is used of each node of a table; the caller's own to change. */
export interface NodeUse {
  readonly cpuShares: Float64Array
  readonly memoryMB: Float64Array
  readonly diskMB: Float64Array
  /** Not zero where allocations may hold cores, ports or devices. */
  readonly special: Uint8Array
}

function emptyUse(size: number): NodeUse {
  return {
    cpuShares: new Float64Array(size),
    memoryMB: new Float64Array(size),
    diskMB: new Float64Array(size),
    special: new Uint8Array(size),
  }
}
