import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AllocationRow } from '../model/index.ts'
import type { Deferred } from './reconcile/classify.ts'

/** Allocations due within this of one another share a follow-up. */
const FOLLOW_UP_WINDOW_MS = 5_000

export interface FollowUpBatch {
  readonly firstMs: number
  readonly lastMs: number
  readonly rows: readonly AllocationRow[]
}

/** Who waits, in batches of those that are due together, the first to be due first. */
export function batchFollowUps(waiting: readonly Deferred[]): readonly FollowUpBatch[] {
  const batches: { firstMs: number; lastMs: number; rows: AllocationRow[] }[] = []
  const order = waiting.toSorted((a, b) => a.dueMs - b.dueMs || compareText(a.row.ID, b.row.ID))
  for (const { row, dueMs } of order) {
    const batch = batches.at(-1)
    if (batch === undefined || dueMs > batch.firstMs + FOLLOW_UP_WINDOW_MS) {
      batches.push({ firstMs: dueMs, lastMs: dueMs, rows: [row] })
      continue
    }
    batch.rows.push(row)
    batch.lastMs = dueMs
  }
  return batches
}
