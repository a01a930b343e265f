import type { Job } from '@reeve/contract'
import type { AllocationRow } from '../../model/index.ts'
import { isOlder } from './row-order.ts'

/**
 * A draining node alone moves nothing: who drains it marks the allocations whose turn it is, and so
 * does the stop of a single allocation.
 */
export function mustLeave(row: AllocationRow): boolean {
  return row.DesiredTransition?.Migrate === true
}

/**
 * Batch work on a node at the end of its drain is stopped and not started elsewhere; its place in
 * the count stays taken, so that the job does not run it again (choice 8).
 */
export function leavesForGood(row: AllocationRow): boolean {
  return row.DesiredTransition?.MigrateDisablePlacement === true
}

/**
 * A new version of a batch job runs again, also what was stopped for good (5): the old one takes no
 * place in the count, while it leaves or after.
 */
export function leavesItsPlace(row: AllocationRow, job: Job): boolean {
  return leavesForGood(row) && job.Type === 'batch' && isOlder(row, job)
}
