import { ALL_NODE_POOL, type Job } from '@reeve/contract'
import { matchGlob } from '@reeve/kit/glob.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { PublicNode } from '../../model/index.ts'
import { NodeTable } from '../rank/node-table.ts'
import type { PlacementView } from '../view.ts'

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
