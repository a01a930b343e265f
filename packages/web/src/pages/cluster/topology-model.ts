import type {
  AllocationStub,
  ClientStatus,
  TopologyLoad,
  TopologyNode as NodeRecord,
} from '@reeve/contract'
import type { Dimension } from '../../paths.ts'
import { nodeState } from './node-state.ts'
import type { SizedNode } from './topology-layout.ts'

type Amounts = Readonly<Record<Dimension, number>>

/** Allocations with equal status and resources, drawn as equal bars. */
export interface TopologyBars {
  readonly status: ClientStatus
  readonly usage: Amounts
  readonly count: number
}

export interface TopologyNode {
  readonly id: string
  readonly name: string
  readonly datacenter: string
  readonly pool: string
  readonly state: string
  readonly capacity: Amounts
  /** In drawing order. */
  readonly bars: readonly TopologyBars[]
}

/** The nodes and the load on them. The allocation of a bar is loaded on selection. */
export class TopologyModel {
  readonly #nodes = new Map<string, TopologyNode>()
  /** Sorted nodes; undefined after a change. */
  #sorted: readonly TopologyNode[] | undefined

  get nodeCount(): number {
    return this.#nodes.size
  }

  setNode(node: NodeRecord): void {
    this.#sorted = undefined
    this.#nodes.set(node.ID, {
      id: node.ID,
      name: node.Name,
      datacenter: node.Datacenter,
      pool: node.NodePool,
      state: nodeState(node),
      capacity: { cpu: node.CPU, memory: node.MemoryMB },
      bars: node.Loads.map(toBars),
    })
  }

  deleteNode(id: string): void {
    this.#nodes.delete(id)
    this.#sorted = undefined
  }

  node(id: string): TopologyNode | undefined {
    return this.#nodes.get(id)
  }

  /** Returns the nodes by datacenter, pool and name: a stable order. */
  nodes(): readonly TopologyNode[] {
    this.#sorted ??= sortNodes([...this.#nodes.values()])
    return this.#sorted
  }

  /** Returns the allocated amount, the number of allocations and the capacity of all nodes. */
  totals(dimension: Dimension): Totals & { readonly capacity: number } {
    let [allocated, count, capacity] = [0, 0, 0]
    for (const node of this.#nodes.values()) {
      const totals = nodeTotals(node, dimension)
      allocated += totals.allocated
      count += totals.count
      capacity += node.capacity[dimension]
    }
    return { allocated, count, capacity }
  }
}

interface Totals {
  readonly allocated: number
  readonly count: number
}

export function nodeTotals({ bars }: TopologyNode, dimension: Dimension): Totals {
  return {
    allocated: bars.reduce((sum, { usage, count }) => sum + usage[dimension] * count, 0),
    count: bars.reduce((sum, { count }) => sum + count, 0),
  }
}

function toBars({ ClientStatus, CPU, MemoryMB, Count }: TopologyLoad): TopologyBars {
  return { status: ClientStatus, usage: { cpu: CPU, memory: MemoryMB }, count: Count }
}

function sortNodes(nodes: readonly TopologyNode[]): readonly TopologyNode[] {
  const key = ({ datacenter, pool, name, id }: TopologyNode) =>
    [datacenter, pool, name, id].join('\n')
  const keyed = nodes.map((node) => [key(node), node] as const)
  return keyed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, node]) => node)
}

export function toSizedNodes(
  nodes: readonly TopologyNode[],
  dimension: Dimension,
): readonly SizedNode[] {
  return nodes.map(({ id, datacenter, capacity }) => ({
    id,
    group: datacenter,
    capacity: capacity[dimension],
  }))
}

type DrawnAllocation = Pick<AllocationStub, 'ID' | 'Namespace' | 'ClientStatus' | 'Resources'>

const STATUS_ORDER: Readonly<Record<ClientStatus, number>> = {
  running: 0,
  pending: 1,
  unknown: 2,
  complete: 3,
  failed: 4,
  lost: 5,
}

/** Sorts allocations like `Loads` of the contract's TopologyNode, to map bars to allocations. */
export function inDrawingOrder<One extends DrawnAllocation>(
  allocations: readonly One[],
): readonly One[] {
  return allocations.toSorted(
    (a, b) =>
      compare(a.Namespace, b.Namespace) ||
      STATUS_ORDER[a.ClientStatus] - STATUS_ORDER[b.ClientStatus] ||
      (b.Resources?.MemoryMB ?? 0) - (a.Resources?.MemoryMB ?? 0) ||
      (b.Resources?.CPU ?? 0) - (a.Resources?.CPU ?? 0) ||
      compare(a.ID, b.ID),
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
