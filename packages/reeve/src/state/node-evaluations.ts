import type { IdSource } from '../kit/clock.ts'
import { compareText } from '../kit/sorted-list.ts'
import { isTerminal, newEvaluation } from '../model/index.ts'
import { put, type Change, type Stamp } from './store.ts'
import { namespacedKey, type Tables } from './tables.ts'

/**
 * One evaluation for each job that still has something on the node: after the node came, went or
 * changed, what the job wants may be somewhere else.
 */
export function nodeEvaluations(
  tables: Tables,
  nodeId: string,
  options: { readonly stamp: Stamp; readonly ids: IdSource },
): Change[] {
  const { stamp, ids } = options
  const live = tables.allocations.rowsIn('node', nodeId).filter((row) => !isTerminal(row))
  const keys = new Set(live.map((row) => namespacedKey(row.Namespace, row.JobID)))
  return [...keys].toSorted(compareText).flatMap((key) => {
    const job = tables.jobs.find(key)
    if (job === undefined) return []
    const evaluation = newEvaluation(job, {
      id: ids.uuid(),
      trigger: 'node-update',
      timeMs: stamp.timeMs,
      jobModifyIndex: job.JobModifyIndex,
    })
    return [put('evaluations', { ...evaluation, NodeID: nodeId, NodeModifyIndex: stamp.index })]
  })
}
