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
import { companionRows } from './companion-rows.ts'
import { put, remove, type Change } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'

export interface VersionOptions {
  readonly ids: IdSource
  /** Where the source of the new version is; undefined when it has none. */
  readonly sourceBlob: string | undefined
}

/**
 * The job, its new version, its summary and its companions; versions that nobody can ask for any
 * more go.
 */
export function versionRows(
  tables: Tables,
  version: Job,
  { ids, sourceBlob }: VersionOptions,
): Change[] {
  const key = namespacedKey(version.Namespace, version.ID)
  const nowMs = msFromNs(version.SubmitTime)
  const { job, changes } = companionRows(tables, version, { ids, nowMs })
  const first = { ...newSummary(job), Children: countChildren(tables, key) }
  const summary = tables.job_summaries.find(key)
  return [
    put('jobs', job),
    // The lost nodes of a job are told by the job alone.
    put('job_versions', withoutQuarantine(job)),
    ...surplusVersions(tables, key).map((surplus) => remove('job_versions', surplus)),
    put('job_summaries', summary === undefined ? first : withGroupsOf(summary, job)),
    ...changes,
    ...sourceRows(tables, job, sourceBlob),
  ]
}

/**
 * The number of the next version: 0, or after those of a purged job that its allocations keep, also
 * when they have ended: else they would show a job that they never ran.
 */
export function nextVersionNumber(tables: Tables, job: Pick<Job, 'Namespace' | 'ID'>): number {
  const { jobs, job_versions } = tables
  const key = namespacedKey(job.Namespace, job.ID)
  const last = jobs.find(key) ?? job_versions.rowsIn('job', key).at(-1)
  return last === undefined ? 0 : last.Version + 1
}

/**
 * Beyond the latest six without a tag there stay the newest stable one, tagged ones, and those of
 * existing allocations. Called before the new version is there.
 */
function surplusVersions({ job_versions, allocations }: Tables, key: string): readonly string[] {
  const versions = job_versions.rowsIn('job', key)
  const untagged = versions.filter((row) => row.VersionTag === null)
  const stable = versions.findLast((row) => row.Stable)
  return untagged
    .slice(0, Math.max(0, untagged.length + 1 - LIMITS.jobVersionsMax))
    .filter((row) => row !== stable)
    .map((row) => jobVersionKey(row.Namespace, row.ID, row.Version))
    .filter((version) => allocations.countIn('version', version) === 0)
}

/** The latest six sources are kept, whether or not their versions still are. */
function sourceRows(
  { job_submissions }: Tables,
  job: Job,
  sourceBlob: string | undefined,
): Change[] {
  if (sourceBlob === undefined) return []
  const keys = [...job_submissions.keysIn('job', namespacedKey(job.Namespace, job.ID))]
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
