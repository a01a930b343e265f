import type { Job } from '@reeve/contract'
import type { IdSource } from '../kit/clock.ts'
import { matchGlob } from '../kit/glob.ts'
import { compareText } from '../kit/sorted-list.ts'
import { isTerminal, newEvaluation, type NodeRow } from '../model/index.ts'
import { put, type Change, type Stamp } from './store.ts'
import { namespacedKey, type Tables } from './tables.ts'

/** The pool that stands for every pool (reference §4.1). */
const ALL_POOLS = 'all'

/**
 * One evaluation for each job that has something on the node, and for each that wants to run on
 * every node: after the node came, went or changed, what they want may be somewhere else.
 */
export function nodeEvaluations(
  tables: Tables,
  node: Pick<NodeRow, 'ID' | 'NodePool' | 'Datacenter'>,
  options: { readonly stamp: Stamp; readonly ids: IdSource },
): Change[] {
  const { stamp, ids } = options
  const live = tables.allocations.rowsIn('node', node.ID).filter((row) => !isTerminal(row))
  const keys = new Set(live.map((row) => namespacedKey(row.Namespace, row.JobID)))
  for (const key of tables.jobs.keysIn('everywhere', 'yes'))
    if (mayRunOn(tables.jobs.get(key), node)) keys.add(key)
  return [...keys].toSorted(compareText).flatMap((key) => {
    const job = tables.jobs.find(key)
    if (job === undefined) return []
    const evaluation = newEvaluation(job, {
      id: ids.uuid(),
      trigger: 'node-update',
      timeMs: stamp.timeMs,
      jobModifyIndex: job.JobModifyIndex,
    })
    return [put('evaluations', { ...evaluation, NodeID: node.ID, NodeModifyIndex: stamp.index })]
  })
}

function mayRunOn(job: Job, node: Pick<NodeRow, 'NodePool' | 'Datacenter'>): boolean {
  const isPool = job.NodePool === ALL_POOLS || job.NodePool === node.NodePool
  return isPool && job.Datacenters.some((pattern) => matchGlob(pattern, node.Datacenter))
}
