import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AllocationRow } from '../model/index.ts'
import type { DelayedReschedule } from './reconcile/classify.ts'

/** Allocations due within this window share a follow-up evaluation. */
const BATCH_WINDOW_MS = 5_000

export interface FollowUpBatch {
  readonly firstMs: number
  readonly lastMs: number
  readonly rows: readonly AllocationRow[]
}

/** Groups delayed allocations that are due together, earliest first. */
export function batchFollowUps(delayed: readonly DelayedReschedule[]): readonly FollowUpBatch[] {
  const batches: { firstMs: number; lastMs: number; rows: AllocationRow[] }[] = []
  const sorted = delayed.toSorted((a, b) => a.dueMs - b.dueMs || compareText(a.row.ID, b.row.ID))
  for (const { row, dueMs } of sorted) {
    const batch = batches.at(-1)
    if (batch === undefined || dueMs > batch.firstMs + BATCH_WINDOW_MS) {
      batches.push({ firstMs: dueMs, lastMs: dueMs, rows: [row] })
      continue
    }
    batch.rows.push(row)
    batch.lastMs = dueMs
  }
  return batches
}
