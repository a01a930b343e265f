import type { Author } from '../audit-entry.ts'
import type { Store } from '../store.ts'
import type { GarbageAges } from './ages.ts'
import { decideGarbage, firstCursor, type GarbageCursor } from './decide-garbage.ts'
import type { GarbageCounts } from './slice.ts'

export interface CollectOptions extends Author {
  readonly nowMs: number
  readonly ages: GarbageAges
  /** Gives others their turn between two slices. */
  readonly nextTurn: () => Promise<void>
  /** Ends the collection early. */
  readonly isStopped?: () => boolean
}

/**
 * One collection, slice by slice, each made durable before the next is decided. Rejects with the
 * storage's fault; whatever was removed by then stays removed.
 */
export async function collectGarbage(
  store: Store,
  { nowMs, ages, nextTurn, isStopped, by }: CollectOptions,
): Promise<GarbageCounts> {
  const counts = { jobs: 0, evaluations: 0, allocations: 0, deployments: 0, nodes: 0 }
  let author = by
  let cursor: GarbageCursor | undefined = firstCursor(store.tables)
  while (cursor !== undefined) {
    if (isStopped?.() === true) break
    const { slice, next } = decideGarbage(store.tables, cursor, { nowMs, ages })
    // In the same turn in which it was decided: a job may be registered again in the next.
    const commitments = slice.commits.map((request) => {
      const before = store.index
      const commitment = store.commit({ ...request, by: author })
      // A commit without changes leaves no record: the next one has it.
      if (commitment.index > before) author = 'system'
      return commitment
    })
    await Promise.all(commitments.map(({ durable }) => durable))
    counts.jobs += slice.counts.jobs
    counts.evaluations += slice.counts.evaluations
    counts.allocations += slice.counts.allocations
    counts.deployments += slice.counts.deployments
    counts.nodes += slice.counts.nodes
    cursor = next
    await nextTurn()
  }
  return counts
}
