import type { ClientStatus, TopologyLoad, TopologyNode as NodeRecord } from '@reeve/contract'
import type { Dimension } from '../../paths.ts'
import { nodeState } from './node-state.ts'
import type { Sized } from './topology-layout.ts'

type Amounts = Readonly<Record<Dimension, number>>

/** Allocations that look alike: as many bars of one size and colour. */
export interface TopologyBars {
  readonly status: ClientStatus
  readonly takes: Amounts
  readonly count: number
}

export interface TopologyNode {
  readonly id: string
  readonly name: string
  readonly datacenter: string
  readonly pool: string
  readonly state: string
  readonly has: Amounts
  /** In the order in which they are drawn. */
  readonly bars: readonly TopologyBars[]
}

/** The nodes and what lies on them. Which allocation a bar is, is asked when it is looked at. */
export class TopologyModel {
  readonly #nodes = new Map<string, TopologyNode>()
  /** In order; undefined when a node has changed since. */
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
      has: { cpu: node.CPU, memory: node.MemoryMB },
      bars: node.Loads.map(barsOf),
    })
  }

  deleteNode(id: string): void {
    this.#nodes.delete(id)
    this.#sorted = undefined
  }

  node(id: string): TopologyNode | undefined {
    return this.#nodes.get(id)
  }

  /** By datacenter, pool and name, so that the picture stays the same. */
  nodes(): readonly TopologyNode[] {
    this.#sorted ??= sorted([...this.#nodes.values()])
    return this.#sorted
  }

  /** What all allocations take, how many they are, and what all nodes have. */
  totals(by: Dimension): Totals & { readonly has: number } {
    let [taken, count, has] = [0, 0, 0]
    for (const node of this.#nodes.values()) {
      const here = totalsOf(node, by)
      taken += here.taken
      count += here.count
      has += node.has[by]
    }
    return { taken, count, has }
  }
}

interface Totals {
  readonly taken: number
  readonly count: number
}

export function totalsOf({ bars }: TopologyNode, by: Dimension): Totals {
  return {
    taken: bars.reduce((sum, { takes, count }) => sum + takes[by] * count, 0),
    count: bars.reduce((sum, { count }) => sum + count, 0),
  }
}

function barsOf({ ClientStatus, CPU, MemoryMB, Count }: TopologyLoad): TopologyBars {
  return { status: ClientStatus, takes: { cpu: CPU, memory: MemoryMB }, count: Count }
}

function sorted(nodes: readonly TopologyNode[]): readonly TopologyNode[] {
  const key = ({ datacenter, pool, name, id }: TopologyNode) =>
    [datacenter, pool, name, id].join('\n')
  const keyed = nodes.map((node) => [key(node), node] as const)
  return keyed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, node]) => node)
}

export function sizedBy(nodes: readonly TopologyNode[], by: Dimension): readonly Sized[] {
  return nodes.map(({ id, datacenter, has }) => ({ id, group: datacenter, capacity: has[by] }))
}
