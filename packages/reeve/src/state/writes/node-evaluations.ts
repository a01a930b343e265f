import type { Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isClientTerminal,
  isServerTerminal,
  newEvaluation,
  type AllocationRow,
  type NodeRow,
} from '../../model/index.ts'
import { put, type Change, type Stamp } from '../store.ts'
import { jobVersionKey, namespacedKey, type Tables } from '../schema/tables.ts'

/** The built-in pool that contains all nodes. */
const ALL_POOLS = 'all'

/**
 * Evaluations after a node was added, removed or changed: one for each job with allocations on the
 * node and for each system job that may run there.
 */
export function nodeEvaluations(
  tables: Tables,
  node: Pick<NodeRow, 'ID' | 'NodePool' | 'Datacenter'>,
  options: { readonly stamp: Stamp; readonly ids: IdSource },
): Change[] {
  const { stamp, ids } = options
  const jobs = new Map<string, Job>()
  for (const row of tables.allocations.rowsByIndex('node', node.ID).filter(isAffectedByNode)) {
    const job = jobOf(tables, row)
    if (job !== undefined) jobs.set(namespacedKey(job.Namespace, job.ID), job)
  }
  for (const key of tables.jobs.keysByIndex('everywhere', 'yes')) {
    const job = tables.jobs.get(key)
    if (mayRunOn(job, node)) jobs.set(key, job)
  }
  const sorted = [...jobs].toSorted(([a], [b]) => compareText(a, b))
  return sorted.map(([, job]) => {
    const evaluation = newEvaluation(job, {
      id: ids.uuid(),
      trigger: 'node-update',
      timeMs: stamp.timeMs,
      jobModifyIndex: job.JobModifyIndex,
    })
    return put('evaluations', { ...evaluation, NodeID: node.ID, NodeModifyIndex: stamp.index })
  })
}

/**
 * For a purged job, returns the version that the allocation runs, because its allocations still
 * need handling.
 */
function jobOf({ jobs, job_versions }: Tables, row: AllocationRow): Job | undefined {
  return (
    jobs.find(namespacedKey(row.Namespace, row.JobID)) ??
    job_versions.find(jobVersionKey(row.Namespace, row.JobID, row.JobVersion))
  )
}

/**
 * True if the state of the node affects the allocation. An allocation that should stop and is still
 * running is lost with its node; a service allocation that ended by itself may be replaced.
 */
function isAffectedByNode(row: AllocationRow): boolean {
  if (!isClientTerminal(row)) return true
  return row.JobType === 'service' && !isServerTerminal(row)
}

/** A sysbatch job runs only on nodes that existed when it was registered. */
function mayRunOn(job: Job, node: Pick<NodeRow, 'NodePool' | 'Datacenter'>): boolean {
  if (job.Type !== 'system') return false
  const isPool = job.NodePool === ALL_POOLS || job.NodePool === node.NodePool
  return isPool && job.Datacenters.some((pattern) => matchGlob(pattern, node.Datacenter))
}
