import { ALL_NODE_POOL, type Job } from '@reeve/contract'
import { matchGlob } from '@reeve/kit/glob.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { PublicNode } from '../../model/index.ts'
import { NodeTable } from '../rank/node-table.ts'
import type { PlacementView } from '../view.ts'

/** The nodes that a job may use as far as its pool and datacenters say. */
export interface BaseSet {
  readonly pool: string
  /** By ID, so that everything made from them has one order. */
  readonly nodes: readonly PublicNode[]
  /** The same nodes in columns. */
  readonly table: NodeTable
  /** How many of them each datacenter has. */
  readonly byDatacenter: Readonly<Record<string, number>>
}

/**
 * Lists never change, so what was made from one holds as long as the list does: a view gives the
 * same list until a node changes.
 */
const knownSets = new WeakMap<readonly PublicNode[], Map<string, BaseSet>>()
/** Jobs of one cluster name few combinations of datacenters. */
const SETS_KEPT = 16

export function baseSet(view: PlacementView, job: Job): BaseSet {
  const pool = poolOf(job)
  const ready = view.readyNodes(pool)
  const sets = knownSets.get(ready) ?? new Map<string, BaseSet>()
  knownSets.set(ready, sets)
  const name = JSON.stringify([pool, job.Datacenters])
  const found = sets.get(name)
  if (found !== undefined) return found
  if (sets.size >= SETS_KEPT) sets.clear()
  const made = newBaseSet(pool, ready, job)
  sets.set(name, made)
  return made
}

function newBaseSet(pool: string, ready: readonly PublicNode[], job: Job): BaseSet {
  const isWanted = datacenterTest(job)
  const table = new NodeTable(ready.filter((node) => isWanted(node.Datacenter)))
  const counts = new Map<string, number>()
  for (const { Datacenter: name } of table.nodes) counts.set(name, (counts.get(name) ?? 0) + 1)
  const sorted = [...counts].toSorted(([a], [b]) => compareText(a, b))
  return { pool, table, nodes: table.nodes, byDatacenter: Object.fromEntries(sorted) }
}

/** Whether a node that may be busy, draining or ineligible still is one of the job's. */
export function isInBaseSet(node: PublicNode, job: Job): boolean {
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

/** Clusters have few datacenters and many nodes, so each name is matched once. */
function datacenterTest(job: Job): (name: string) => boolean {
  const known = new Map<string, boolean>()
  return (name) => {
    let wanted = known.get(name)
    if (wanted === undefined) {
      wanted = job.Datacenters.some((pattern) => matchGlob(pattern, name))
      known.set(name, wanted)
    }
    return wanted
  }
}
