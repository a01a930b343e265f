import type { AllocationStub, ClientStatus, Node, NodeStub } from '@reeve/contract'
import type { Dimension } from '../../paths.ts'
import { nodeState } from './node-state.ts'
import type { Sized } from './topology-layout.ts'

type Amounts = Readonly<Record<Dimension, number>>

export interface TopologyNode {
  readonly id: string
  readonly name: string
  readonly datacenter: string
  readonly pool: string
  readonly state: string
  readonly has: Amounts
}

export interface TopologyBar {
  readonly id: string
  readonly nodeId: string
  readonly name: string
  readonly jobId: string
  readonly namespace: string
  readonly status: ClientStatus
  readonly takes: Amounts
}

/** More than this many bars nobody can tell apart; the rest is not asked for. */
export const BARS_MAX = 100_000

type NodeRecord = Pick<
  NodeStub,
  | 'ID'
  | 'Name'
  | 'Datacenter'
  | 'NodePool'
  | 'Status'
  | 'Drain'
  | 'SchedulingEligibility'
  | 'NodeResources'
  | 'ReservedResources'
>
type AllocationFields = Pick<
  AllocationStub,
  'ID' | 'NodeID' | 'Name' | 'JobID' | 'Namespace' | 'ClientStatus' | 'DesiredStatus' | 'Resources'
>

/**
 * The nodes and what lies on them, kept as little as drawing needs: a hundred thousand allocations
 * are a few megabytes here and some hundred on the wire.
 */
export class TopologyModel {
  readonly #nodes = new Map<string, TopologyNode>()
  readonly #bars = new Map<string, TopologyBar>()
  readonly #byNode = new Map<string, Map<string, TopologyBar>>()
  /** In order; undefined when a node has changed since. */
  #sorted: readonly TopologyNode[] | undefined

  get nodeCount(): number {
    return this.#nodes.size
  }

  get barCount(): number {
    return this.#bars.size
  }

  setNode(node: NodeRecord | Node): void {
    const { NodeResources: all, ReservedResources: kept } = node
    this.#sorted = undefined
    this.#nodes.set(node.ID, {
      id: node.ID,
      name: node.Name,
      datacenter: node.Datacenter,
      pool: node.NodePool,
      state: nodeState(node),
      has: {
        cpu: (all?.Cpu.CpuShares ?? 0) - (kept?.Cpu.CpuShares ?? 0),
        memory: (all?.Memory.MemoryMB ?? 0) - (kept?.Memory.MemoryMB ?? 0),
      },
    })
  }

  deleteNode(id: string): void {
    this.#nodes.delete(id)
    this.#sorted = undefined
  }

  /** Puts an allocation in place; one that takes nothing any more goes. */
  setAllocation(allocation: AllocationFields): void {
    const { ID, NodeID, ClientStatus, Resources } = allocation
    const takesRoom = ClientStatus === 'running' || ClientStatus === 'pending'
    if (!takesRoom) return this.#deleteBar(ID)
    if (!this.#bars.has(ID) && this.#bars.size >= BARS_MAX) return
    const bar: TopologyBar = {
      id: ID,
      nodeId: NodeID,
      name: allocation.Name,
      jobId: allocation.JobID,
      namespace: allocation.Namespace,
      status: ClientStatus,
      takes: { cpu: Resources?.CPU ?? 0, memory: Resources?.MemoryMB ?? 0 },
    }
    this.#bars.set(ID, bar)
    const bars = this.#byNode.get(NodeID)
    if (bars === undefined) this.#byNode.set(NodeID, new Map([[ID, bar]]))
    else bars.set(ID, bar)
  }

  #deleteBar(id: string): void {
    const bar = this.#bars.get(id)
    if (bar === undefined) return
    this.#bars.delete(id)
    this.#byNode.get(bar.nodeId)?.delete(id)
  }

  /** By datacenter, pool and name, so that the picture stays the same. */
  nodes(): readonly TopologyNode[] {
    this.#sorted ??= sorted([...this.#nodes.values()])
    return this.#sorted
  }

  bar(id: string): TopologyBar | undefined {
    return this.#bars.get(id)
  }

  barsOf(nodeId: string): Iterable<TopologyBar> {
    return this.#byNode.get(nodeId)?.values() ?? []
  }

  /** What all allocations take, and what all nodes have. */
  totals(by: Dimension): { readonly taken: number; readonly has: number } {
    let taken = 0
    let has = 0
    for (const bar of this.#bars.values()) taken += bar.takes[by]
    for (const node of this.#nodes.values()) has += node.has[by]
    return { taken, has }
  }
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
