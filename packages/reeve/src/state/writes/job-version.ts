import type { Job, JobChildrenSummary, Trigger } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  LIMITS,
  newSummary,
  withGroupsOf,
  withoutQuarantine,
  type JobSubmissionRow,
  launchRecordAfterUpdate,
  assignPolicyIds,
  isParent,
  jobSpecChanged,
  newEvaluation,
  withOrigin,
  type VersionOrigin,
} from '../../model/index.ts'
import { withDerivedRows } from './derived-rows.ts'
import { put, remove, type Change, type Stamp } from '../store.ts'
import { jobVersionKey, namespacedKey, type TableName, type Tables } from '../schema/tables.ts'

interface VersionOptions {
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

/**
 * Counts the children of a job for its first summary. Children survive the purge of their parent
 * and belong to it again after it is re-registered.
 */
export function countChildren(tables: Tables, key: string): JobChildrenSummary {
  const statuses = tables.jobs.rowsByIndex('parent', key).map((row) => row.Status)
  const count = (status: string): number => statuses.filter((one) => one === status).length
  return { Pending: count('pending'), Running: count('running'), Dead: count('dead') }
}

/** A job version as it is stored, with its dependent rows. */
interface JobVersionRows {
  /** The job with the IDs of its scaling policies. */
  readonly job: Job
  readonly changes: readonly Change[]
}

/**
 * Changes of scaling policies and of the periodic launch schedule that a new job version requires.
 * Must be part of the commit that writes the version.
 */
function scalingAndLaunchRows(
  tables: Tables,
  version: Job,
  { ids, nowMs }: { readonly ids: IdSource; readonly nowMs: number },
): JobVersionRows {
  const key = namespacedKey(version.Namespace, version.ID)
  const stored = tables.scaling_policies.rowsByIndex('job', key)
  const { job, changed, removed } = assignPolicyIds(version, stored, ids)
  const changes = [
    ...changed.map((policy) => put('scaling_policies', policy)),
    ...removed.map((id) => remove('scaling_policies', id)),
    ...launchRows(tables, job, nowMs),
  ]
  return { job, changes }
}

function launchRows(tables: Tables, job: Job, nowMs: number): Change[] {
  const key = namespacedKey(job.Namespace, job.ID)
  const record = launchRecordAfterUpdate(tables.jobs.find(key), job, nowMs)
  if (record === 'keep') return []
  if (record !== undefined) return [put('periodic_launches', record)]
  return tables.periodic_launches.has(key) ? [remove('periodic_launches', key)] : []
}

/** Keys of the rows that belong to a job and are deleted when it is purged. */
function jobDependentKeys(
  tables: Tables,
  key: string,
): readonly { readonly table: TableName; readonly key: string }[] {
  const keysOf = (table: 'scaling_policies' | 'scaling_events') =>
    [...tables[table].keysByIndex('job', key)].map((rowKey) => ({ table, key: rowKey }))
  return [
    ...keysOf('scaling_policies'),
    ...keysOf('scaling_events'),
    ...(tables.periodic_launches.has(key) ? [{ table: 'periodic_launches', key } as const] : []),
  ]
}

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

interface ChildOptions {
  readonly stamp: Stamp
  readonly ids: IdSource
  /**
   * ID of the evaluation that places the child; unused if the child is itself a periodic or
   * parameterized job.
   */
  readonly evalId: string
  readonly trigger: Trigger
  readonly origin: VersionOrigin
}

/**
 * Rows that register a child of a periodic or parameterized job: job, version, summary and
 * evaluation. Two launches in the same second have the same ID; the second creates a new version
 * only if the job differs.
 */
export function childJobRows(tables: Tables, child: Job, options: ChildOptions): Change[] {
  const key = namespacedKey(child.Namespace, child.ID)
  const current = tables.jobs.find(key)
  const isNew = current === undefined || current.Stop || jobSpecChanged(current, child)
  const job = isNew ? nextChildVersion(tables, child, options) : current
  return withDerivedRows(tables, [
    ...(isNew ? childVersionRows(tables, job, options) : []),
    ...(isParent(job) ? [] : [evaluationRow(job, options)]),
  ])
}

/**
 * Versions of a purged child remain while allocations run them, so numbering continues after them.
 */
function nextChildVersion(tables: Tables, child: Job, { stamp, origin }: ChildOptions): Job {
  const { index, timeMs } = stamp
  const key = namespacedKey(child.Namespace, child.ID)
  const lastVersion = tables.jobs.find(key) ?? tables.job_versions.rowsByIndex('job', key).at(-1)
  return {
    ...withOrigin(child, origin),
    Version: lastVersion === undefined ? 0 : lastVersion.Version + 1,
    SubmitTime: nsFromMs(timeMs),
    JobModifyIndex: index,
    CreateIndex: tables.jobs.createIndexOf(key) ?? index,
    ModifyIndex: index,
  }
}

function childVersionRows(tables: Tables, version: Job, { ids, stamp }: ChildOptions): Change[] {
  const { job, changes } = scalingAndLaunchRows(tables, version, { ids, nowMs: stamp.timeMs })
  const key = namespacedKey(job.Namespace, job.ID)
  return [
    put('jobs', job),
    put('job_versions', job),
    ...(tables.job_summaries.has(key) ? [] : [put('job_summaries', newSummary(job))]),
    ...changes,
  ]
}

function evaluationRow(job: Job, { evalId, trigger, stamp }: ChildOptions): Change {
  const evaluation = newEvaluation(job, {
    id: evalId,
    trigger,
    timeMs: stamp.timeMs,
    jobModifyIndex: job.JobModifyIndex,
  })
  return put('evaluations', evaluation)
}
