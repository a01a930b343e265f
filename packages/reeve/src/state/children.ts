import type { JobChildrenSummary } from '@reeve/contract'
import type { Tables } from './tables.ts'

/**
 * Counts the children of a job for its first summary. Children survive the purge of their parent
 * and belong to it again after it is re-registered.
 */
export function countChildren(tables: Tables, key: string): JobChildrenSummary {
  const statuses = tables.jobs.rowsByIndex('parent', key).map((row) => row.Status)
  const count = (status: string): number => statuses.filter((one) => one === status).length
  return { Pending: count('pending'), Running: count('running'), Dead: count('dead') }
}
