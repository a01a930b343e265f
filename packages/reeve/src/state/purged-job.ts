import type { Job } from '@reeve/contract'
import { jobDependentKeys } from './companion-rows.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { remove, type Change } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'

/**
 * Deletes of everything that belongs to a job, for purge and garbage collection. A table that gains
 * rows of jobs must be added here. Versions of existing allocations stay until those are deleted.
 */
export function purgeJobRows(tables: Tables, job: Job): Change[] {
  const key = namespacedKey(job.Namespace, job.ID)
  const versions = tables.job_versions
    .rowsByIndex('job', key)
    .map((row) => jobVersionKey(row.Namespace, row.ID, row.Version))
    .filter((version) => tables.allocations.countByIndex('version', version) === 0)
  return [
    remove('jobs', key),
    remove('job_summaries', key),
    ...jobDependentKeys(tables, key).map(({ table, key: rowKey }) => remove(table, rowKey)),
    ...versions.map((version) => remove('job_versions', version)),
    ...[...tables.job_submissions.keysByIndex('job', key)]
      .toSorted(compareText)
      .map((version) => remove('job_submissions', version)),
  ]
}
