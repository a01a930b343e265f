import type { Job } from '@reeve/contract'
import { companionKeys } from './companion-rows.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { remove, type Change } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'

/**
 * Everything that is kept of a job and goes with it: what a purge and the collector remove. A table
 * that gains rows of jobs gains a line here. Versions of existing allocations stay until those go.
 */
export function purgedJobRows(tables: Tables, job: Job): Change[] {
  const key = namespacedKey(job.Namespace, job.ID)
  const versions = tables.job_versions
    .rowsIn('job', key)
    .map((row) => jobVersionKey(row.Namespace, row.ID, row.Version))
    .filter((version) => tables.allocations.countIn('version', version) === 0)
  return [
    remove('jobs', key),
    remove('job_summaries', key),
    ...companionKeys(tables, key).map(({ table, key: own }) => remove(table, own)),
    ...versions.map((version) => remove('job_versions', version)),
    ...[...tables.job_submissions.keysIn('job', key)]
      .toSorted(compareText)
      .map((version) => remove('job_submissions', version)),
  ]
}
