import { ALL_NODE_POOL, type Job } from '@reeve/contract'
import { matchGlob } from '@reeve/kit/glob.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { type PublicNode, targetReader, type UsageColumns } from '../../model/index.ts'
import type { PlacementView } from '../cluster-view.ts'
import { capacityOf } from '../resources/resource-fit.ts'

/** Ready nodes in the pool and datacenters of a job. */
export interface ReadyNodes {
  readonly pool: string
  /** Sorted by ID, so that all derived lists have a defined order. */
  readonly nodes: readonly PublicNode[]
  /** The same nodes as a column table. */
  readonly table: NodeTable
  /** Number of nodes per datacenter. */
  readonly countByDatacenter: Readonly<Record<string, number>>
}

/** Cached per node list: the view returns the same immutable list until a node changes. */
const cache = new WeakMap<readonly PublicNode[], Map<string, ReadyNodes>>()
/** Cache limit: the jobs of a cluster use few combinations of datacenters. */
const CACHED_SETS_MAX = 16

export function readyNodesInPoolAndDatacenters(view: PlacementView, job: Job): ReadyNodes {
  const pool = poolOf(job)
  const ready = view.readyNodes(pool)
  const byDatacenters = cache.get(ready) ?? new Map<string, ReadyNodes>()
  cache.set(ready, byDatacenters)
  const key = JSON.stringify([pool, job.Datacenters])
  const cached = byDatacenters.get(key)
  if (cached !== undefined) return cached
  if (byDatacenters.size >= CACHED_SETS_MAX) byDatacenters.clear()
  const created = newReadyNodes(pool, ready, job)
  byDatacenters.set(key, created)
  return created
}

function newReadyNodes(pool: string, ready: readonly PublicNode[], job: Job): ReadyNodes {
  const isInJobDatacenter = datacenterMatcher(job)
  const table = new NodeTable(ready.filter((node) => isInJobDatacenter(node.Datacenter)))
  const counts = new Map<string, number>()
  for (const { Datacenter: name } of table.nodes) counts.set(name, (counts.get(name) ?? 0) + 1)
  const sorted = [...counts].toSorted(([a], [b]) => compareText(a, b))
  return { pool, table, nodes: table.nodes, countByDatacenter: Object.fromEntries(sorted) }
}

/**
 * True if the node is in the pool and datacenters of the job, even if it is full, draining or
 * ineligible.
 */
export function isInPoolAndDatacenters(node: PublicNode, job: Job): boolean {
  return isInPool(node, job) && isInDatacenters(node, job)
}

export function isInPool(node: PublicNode, job: Job): boolean {
  const pool = poolOf(job)
  return pool === ALL_NODE_POOL || node.NodePool === pool
}

export function isInDatacenters(node: PublicNode, job: Job): boolean {
  return job.Datacenters.some((pattern) => matchGlob(pattern, node.Datacenter))
}

function poolOf(job: Job): string {
  return job.NodePool === '' ? ALL_NODE_POOL : job.NodePool
}

/** Caches matches per datacenter name: clusters have few datacenters and many nodes. */
function datacenterMatcher(job: Job): (name: string) => boolean {
  const matchCache = new Map<string, boolean>()
  return (name) => {
    let matches = matchCache.get(name)
    if (matches === undefined) {
      matches = job.Datacenters.some((pattern) => matchGlob(pattern, name))
      matchCache.set(name, matches)
    }
    return matches
  }
}

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
interface NodeProperty {
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
