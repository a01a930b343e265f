import { ALL_NODE_POOL, type Job } from '@reeve/contract'
import { matchGlob } from '../../kit/glob.ts'
import { compareText } from '../../kit/sorted-list.ts'
import type { PublicNode } from '../../model/index.ts'
import type { ClusterView } from '../view.ts'

/** The nodes that a job may use as far as its pool and datacenters say. */
export interface BaseSet {
  readonly pool: string
  /** By ID, so that everything made from them has one order. */
  readonly nodes: readonly PublicNode[]
  /** How many of them each datacenter has. */
  readonly byDatacenter: Readonly<Record<string, number>>
}

export function baseSet(view: ClusterView, job: Job): BaseSet {
  const pool = poolOf(job)
  const isWanted = datacenterTest(job)
  const nodes = view
    .readyNodes(pool)
    .filter((node) => isWanted(node.Datacenter))
    .toSorted((a, b) => compareText(a.ID, b.ID))
  const counts = new Map<string, number>()
  for (const { Datacenter: name } of nodes) counts.set(name, (counts.get(name) ?? 0) + 1)
  const sorted = [...counts].toSorted(([a], [b]) => compareText(a, b))
  return { pool, nodes, byDatacenter: Object.fromEntries(sorted) }
}

/** Whether a node that may be busy, draining or ineligible still is one of the job's. */
export function isInBaseSet(node: PublicNode, job: Job): boolean {
  const pool = poolOf(job)
  const inPool = pool === ALL_NODE_POOL || node.NodePool === pool
  return inPool && job.Datacenters.some((pattern) => matchGlob(pattern, node.Datacenter))
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
