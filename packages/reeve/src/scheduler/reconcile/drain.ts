import type { AllocationRow } from '../../model/index.ts'

/**
 * A draining node alone moves nothing: who drains it marks the allocations whose turn it is
 * (scheduling reference §8), and so does the stop of a single allocation.
 */
export function mustLeave(row: AllocationRow): boolean {
  return row.DesiredTransition?.Migrate === true
}

/**
 * Batch work on a node at the end of its drain is stopped and not started elsewhere; its place in
 * the count stays taken, so that the job does not run it again (reference §8, choice 8).
 */
export function leavesForGood(row: AllocationRow): boolean {
  return row.DesiredTransition?.MigrateDisablePlacement === true
}
