import type { Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  LIMITS,
  newSummary,
  withGroupsOf,
  withoutQuarantine,
  type JobSubmissionRow,
} from '../model/index.ts'
import { countChildren } from './children.ts'
import { scalingAndLaunchRows } from './companion-rows.ts'
import { put, remove, type Change } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'

export interface VersionOptions {
  readonly ids: IdSource
  /** Blob key of the source of the new version; undefined if it has none. */
  readonly sourceBlob: string | undefined
}

/**
 * Rows of a new job version: job, version, summary, dependent rows, and deletes of expired
 * versions.
 */
export function versionRows(
  tables: Tables,
  version: Job,
  { ids, sourceBlob }: VersionOptions,
): Change[] {
  const key = namespacedKey(version.Namespace, version.ID)
  const nowMs = msFromNs(version.SubmitTime)
  const { job, changes } = scalingAndLaunchRows(tables, version, { ids, nowMs })
  const newSummaryRow = { ...newSummary(job), Children: countChildren(tables, key) }
  const summary = tables.job_summaries.find(key)
  return [
    put('jobs', job),
    // Lost nodes are stored in the job row only.
    put('job_versions', withoutQuarantine(job)),
    ...expiredVersions(tables, key).map((surplus) => remove('job_versions', surplus)),
    put('job_summaries', summary === undefined ? newSummaryRow : withGroupsOf(summary, job)),
    ...changes,
    ...submissionRows(tables, job, sourceBlob),
  ]
}

/**
 * Number of the next version: 0 for a new job. After a purge the numbering continues after versions
 * that allocations still reference; otherwise those allocations would show a job they never ran.
 */
export function nextVersionNumber(tables: Tables, job: Pick<Job, 'Namespace' | 'ID'>): number {
  const { jobs, job_versions } = tables
  const key = namespacedKey(job.Namespace, job.ID)
  const last = jobs.find(key) ?? job_versions.rowsByIndex('job', key).at(-1)
  return last === undefined ? 0 : last.Version + 1
}

/**
 * Versions to delete: all but the latest six untagged ones, the newest stable one, tagged ones and
 * those with allocations. Called before the new version is stored.
 */
function expiredVersions({ job_versions, allocations }: Tables, key: string): readonly string[] {
  const versions = job_versions.rowsByIndex('job', key)
  const untagged = versions.filter((row) => row.VersionTag === null)
  const newestStable = versions.findLast((row) => row.Stable)
  return untagged
    .slice(0, Math.max(0, untagged.length + 1 - LIMITS.jobVersionsMax))
    .filter((row) => row !== newestStable)
    .map((row) => jobVersionKey(row.Namespace, row.ID, row.Version))
    .filter((version) => allocations.countByIndex('version', version) === 0)
}

/** The latest six sources are kept, even if their versions are deleted. */
function submissionRows(
  { job_submissions }: Tables,
  job: Job,
  sourceBlob: string | undefined,
): Change[] {
  if (sourceBlob === undefined) return []
  const keys = [...job_submissions.keysByIndex('job', namespacedKey(job.Namespace, job.ID))]
  const surplus = keys
    .toSorted(compareText)
    .slice(0, Math.max(0, keys.length + 1 - LIMITS.jobSourcesMax))
  const removals = surplus.map((version) => remove('job_submissions', version))
  const row: JobSubmissionRow = {
    Namespace: job.Namespace,
    JobID: job.ID,
    Version: job.Version,
    JobModifyIndex: job.JobModifyIndex,
    BlobKey: sourceBlob,
  }
  return [...removals, put('job_submissions', row)]
}
