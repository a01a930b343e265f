import type { Job } from '@reeve/contract'
import type { AllocationRow } from '../../model/index.ts'
import { isFromOlderVersion } from './row-order.ts'

/**
 * True if the allocation is marked for migration. A draining node alone is not a reason: the
 * drainer marks allocations in order, and so does stopping a single allocation.
 */
export function isMarkedForMigration(row: AllocationRow): boolean {
  return row.DesiredTransition?.Migrate === true
}

/**
 * True if the allocation is stopped without a replacement: batch work at the drain deadline. It
 * still counts towards the group, so that the job does not run it again (choice 8).
 */
export function isReplacementDisabled(row: AllocationRow): boolean {
  return row.DesiredTransition?.MigrateDisablePlacement === true
}

/**
 * True if an allocation stopped without replacement no longer counts towards the group, because a
 * newer version of the batch job runs again.
 */
export function vacatesSlot(row: AllocationRow, job: Job): boolean {
  return isReplacementDisabled(row) && job.Type === 'batch' && isFromOlderVersion(row, job)
}
