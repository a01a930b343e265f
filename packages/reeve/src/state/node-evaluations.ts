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
} from '../model/index.ts'
import { put, type Change, type Stamp } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'

/** The pool that stands for every pool. */
const ALL_POOLS = 'all'

/**
 * One evaluation for each job that has something on the node, and for each system job that may run
 * there: after the node came, went or changed, what they want may be somewhere else.
 */
export function nodeEvaluations(
  tables: Tables,
  node: Pick<NodeRow, 'ID' | 'NodePool' | 'Datacenter'>,
  options: { readonly stamp: Stamp; readonly ids: IdSource },
): Change[] {
  const { stamp, ids } = options
  const jobs = new Map<string, Job>()
  for (const row of tables.allocations.rowsIn('node', node.ID).filter(isConcerned)) {
    const job = jobOf(tables, row)
    if (job !== undefined) jobs.set(namespacedKey(job.Namespace, job.ID), job)
  }
  for (const key of tables.jobs.keysIn('everywhere', 'yes')) {
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

/** Of a purged job the version that the allocation runs: somebody must still see to it. */
function jobOf({ jobs, job_versions }: Tables, row: AllocationRow): Job | undefined {
  return (
    jobs.find(namespacedKey(row.Namespace, row.JobID)) ??
    job_versions.find(jobVersionKey(row.Namespace, row.JobID, row.JobVersion))
  )
}

/**
 * Whether what becomes of the node matters to the allocation. One that should stop and has not
 * ended is lost with its node; one of a service that ended by itself may be wanted again.
 */
function isConcerned(row: AllocationRow): boolean {
  if (!isClientTerminal(row)) return true
  return row.JobType === 'service' && !isServerTerminal(row)
}

/** A sysbatch job runs where it could when it was registered, not on nodes that come later. */
function mayRunOn(job: Job, node: Pick<NodeRow, 'NodePool' | 'Datacenter'>): boolean {
  if (job.Type !== 'system') return false
  const isPool = job.NodePool === ALL_POOLS || job.NodePool === node.NodePool
  return isPool && job.Datacenters.some((pattern) => matchGlob(pattern, node.Datacenter))
}
