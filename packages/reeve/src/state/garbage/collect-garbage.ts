import type { Author } from '../audit-entry.ts'
import type { Store } from '../store.ts'
import type { GcThresholds } from './ages.ts'
import { planGcBatch, firstCursor, type GcCursor } from './decide-garbage.ts'
import type { GcCounts } from './slice.ts'

export interface GcRunOptions extends Author {
  readonly nowMs: number
  readonly ages: GcThresholds
  /** Yields to the event loop between two batches. */
  readonly yieldToEventLoop: () => Promise<void>
  /** Returning true ends the collection early. */
  readonly isStopped?: () => boolean
}

/**
 * Runs one collection batch by batch; each batch is durable before the next is planned. Rejects
 * with the storage fault; rows deleted by then stay deleted.
 */
export async function runGc(
  store: Store,
  { nowMs, ages, yieldToEventLoop, isStopped, by }: GcRunOptions,
): Promise<GcCounts> {
  const counts = { jobs: 0, evaluations: 0, allocations: 0, deployments: 0, nodes: 0 }
  let author = by
  let cursor: GcCursor | undefined = firstCursor(store.tables)
  while (cursor !== undefined) {
    if (isStopped?.() === true) break
    const { slice, next } = planGcBatch(store.tables, cursor, { nowMs, ages })
    // Commit in the tick in which the batch was planned: the job may be re-registered in the next
    // one.
    const results = slice.commits.map((request) => {
      const previousIndex = store.index
      const result = store.commit({ ...request, by: author })
      // A commit without changes leaves no audit record; the next one gets the entry.
      if (result.index > previousIndex) author = 'system'
      return result
    })
    await Promise.all(results.map(({ durable }) => durable))
    counts.jobs += slice.counts.jobs
    counts.evaluations += slice.counts.evaluations
    counts.allocations += slice.counts.allocations
    counts.deployments += slice.counts.deployments
    counts.nodes += slice.counts.nodes
    cursor = next
    await yieldToEventLoop()
  }
  return counts
}
