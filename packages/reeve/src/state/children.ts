import type { JobChildrenSummary } from '@reeve/contract'
import type { Tables } from './tables.ts'

/**
 * The children of a job, counted: what its first summary begins with. Children outlive a parent
 * that is purged, and are there when it is registered again.
 */
export function countChildren(tables: Tables, key: string): JobChildrenSummary {
  const statuses = tables.jobs.rowsIn('parent', key).map((row) => row.Status)
  const count = (status: string): number => statuses.filter((one) => one === status).length
  return { Pending: count('pending'), Running: count('running'), Dead: count('dead') }
}
