import { compareText } from '@reeve/kit/sorted-list.ts'
import { targetReader, type PublicNode, type UsageColumns } from '../../model/index.ts'
import type { PlacementView } from '../view.ts'
import { capacityOf } from './group-ask.ts'

/** Cache limit: the jobs of a cluster use few properties. */
const CACHED_PROPERTIES_MAX = 32

/**
 * Nodes sorted by ID, with their capacity in columns. Built once per set of nodes and shared by
 * evaluations until a node changes.
 */
export class NodeTable {
  readonly nodes: readonly PublicNode[]
  readonly cpuShares: Float64Array
  readonly memoryMB: Float64Array
  readonly diskMB: Float64Array
  readonly #rowByNodeId: ReadonlyMap<string, number>
  readonly #properties = new Map<string, NodeProperty>()
  #classes: NodeProperty | undefined
  #slotCache: { readonly of: UsageColumns; readonly slots: Int32Array } | undefined

  constructor(nodes: readonly PublicNode[]) {
    this.nodes = nodes.toSorted((a, b) => compareText(a.ID, b.ID))
    const capacities = this.nodes.map(capacityOf)
    this.cpuShares = Float64Array.from(capacities, (capacity) => capacity.cpuShares)
    this.memoryMB = Float64Array.from(capacities, (capacity) => capacity.memoryMB)
    this.diskMB = Float64Array.from(capacities, (capacity) => capacity.diskMB)
    this.#rowByNodeId = new Map(this.nodes.map((node, at) => [node.ID, at]))
  }

  get size(): number {
    return this.nodes.length
  }

  nodeAt(at: number): PublicNode {
    const node = this.nodes[at]
    if (node === undefined) throw new Error('invariant broken: a place is one of the table')
    return node
  }

  /** Row of a node; −1 if it is not in the table. */
  rowOf(nodeId: string): number {
    return this.#rowByNodeId.get(nodeId) ?? -1
  }

  /** Values of a target such as `${meta.rack}` on each node. */
  propertyOf(target: string): NodeProperty {
    const cached = this.#properties.get(target)
    if (cached !== undefined) return cached
    if (this.#properties.size >= CACHED_PROPERTIES_MAX) this.#properties.clear()
    const property = buildProperty(this.nodes, targetReader(target))
    this.#properties.set(target, property)
    return property
  }

  /** Computed class of each node; no value for nodes without one. */
  get classes(): NodeProperty {
    this.#classes ??= buildProperty(this.nodes, (node) => node.ComputedClass || undefined)
    return this.#classes
  }

  /** Current usage of each node, in the row order of this table. */
  usage(view: PlacementView): NodeUsageColumns {
    const columns = view.usageColumns
    return columns === undefined ? this.#readEach(view) : this.#readColumns(columns)
  }

  #readColumns(columns: UsageColumns): NodeUsageColumns {
    if (this.#slotCache?.of !== columns) {
      const slots = Int32Array.from(this.nodes, (node) => columns.slotOf(node.ID))
      this.#slotCache = { of: columns, slots }
    }
    const { slots } = this.#slotCache
    const usage = emptyUsage(slots.length)
    const { cpuShares, memoryMB, diskMB, hasDiscreteUsage } = columns
    for (let at = 0; at < slots.length; at++) {
      const slot = slots[at] ?? 0
      usage.cpuShares[at] = cpuShares[slot] ?? 0
      usage.memoryMB[at] = memoryMB[slot] ?? 0
      usage.diskMB[at] = diskMB[slot] ?? 0
      usage.hasDiscreteUsage[at] = hasDiscreteUsage[slot] ?? 0
    }
    return usage
  }

  #readEach(view: PlacementView): NodeUsageColumns {
    const columns = emptyUsage(this.nodes.length)
    for (const [at, node] of this.nodes.entries()) {
      const usage = view.usageOn(node.ID)
      columns.cpuShares[at] = usage.cpuShares
      columns.memoryMB[at] = usage.memoryMB
      columns.diskMB[at] = usage.diskMB
      columns.hasDiscreteUsage[at] = 1
    }
    return columns
  }
}

/** Values of one property, with each distinct value stored once. */
export interface NodeProperty {
  readonly values: readonly string[]
  /** First node with each value. */
  readonly representatives: readonly PublicNode[]
  /** Value ID of each node; −1 if it has no value. */
  readonly valueIds: Int32Array
}

function buildProperty(
  nodes: readonly PublicNode[],
  read: (node: PublicNode) => string | undefined,
): NodeProperty {
  const idByValue = new Map<string, number>()
  const representatives: PublicNode[] = []
  const valueIds = Int32Array.from(nodes, (node) => {
    const value = read(node)
    if (value === undefined) return -1
    const valueId = idByValue.get(value)
    if (valueId !== undefined) return valueId
    idByValue.set(value, representatives.length)
    return representatives.push(node) - 1
  })
  return { values: [...idByValue.keys()], representatives, valueIds }
}

/** Usage of each node of a table; callers may modify it. */
export interface NodeUsageColumns {
  readonly cpuShares: Float64Array
  readonly memoryMB: Float64Array
  readonly diskMB: Float64Array
  /** Not zero if cores, ports or devices may be in use. */
  readonly hasDiscreteUsage: Uint8Array
}

function emptyUsage(size: number): NodeUsageColumns {
  return {
    cpuShares: new Float64Array(size),
    memoryMB: new Float64Array(size),
    diskMB: new Float64Array(size),
    hasDiscreteUsage: new Uint8Array(size),
  }
}
