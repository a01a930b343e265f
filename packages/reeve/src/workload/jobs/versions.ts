import type { Job } from '@reeve/contract'
import { msFromNs } from '../../kit/duration.ts'
import { compareText } from '../../kit/sorted-list.ts'
import {
  LIMITS,
  newSummary,
  refusal,
  withGroupsOf,
  type JobSubmissionRow,
  type Refusal,
} from '../../model/index.ts'
import {
  companionRows,
  countChildren,
  jobVersionKey,
  namespacedKey,
  put,
  remove,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Names one version of a job. */
export interface VersionName {
  readonly namespace: string
  readonly jobId: string
  readonly version: number
}

/**
 * The job, its new version, its summary and its companions; versions that nobody can ask for any
 * more go, and their sources with them. `sourceBlob` is where the source of the new version is, when
 * it has one.
 */
export function versionRows(context: WorkloadContext, version: Job, sourceBlob?: string): Change[] {
  const { tables } = context.store
  const key = namespacedKey(version.Namespace, version.ID)
  const nowMs = msFromNs(version.SubmitTime)
  const { job, changes } = companionRows(tables, version, { ids: context.ids, nowMs })
  const first = { ...newSummary(job), Children: countChildren(tables, key) }
  const summary = tables.job_summaries.find(key)
  const gone = surplusVersions(context, key)
  return [
    put('jobs', job),
    put('job_versions', job),
    ...gone.map((surplus) => remove('job_versions', surplus)),
    put('job_summaries', summary === undefined ? first : withGroupsOf(summary, job)),
    ...changes,
    ...sourceRows(context, job, { gone, sourceBlob }),
  ]
}

/** The number of the next version. The first is 0; those of a purged job that still run go before. */
export function nextVersionNumber(context: WorkloadContext, job: Job): number {
  const { jobs, job_versions } = context.store.tables
  const key = namespacedKey(job.Namespace, job.ID)
  const last = jobs.find(key) ?? job_versions.rowsIn('job', key).at(-1)
  return last === undefined ? 0 : last.Version + 1
}

/**
 * Scheduling reference §16. Beyond the latest six without a tag there stay the newest stable one,
 * tagged ones, and those of existing allocations. Called before the new version is there.
 */
function surplusVersions(context: WorkloadContext, key: string): readonly string[] {
  const { job_versions, allocations } = context.store.tables
  const versions = job_versions.rowsIn('job', key)
  const untagged = versions.filter((row) => row.VersionTag === null)
  const stable = versions.findLast((row) => row.Stable)
  return untagged
    .slice(0, Math.max(0, untagged.length + 1 - LIMITS.jobVersionsMax))
    .filter((row) => row !== stable)
    .map(keyOf)
    .filter((version) => allocations.countIn('version', version) === 0)
}

interface SourceChange {
  /** Versions that go. */
  readonly gone: readonly string[]
  /** Where the source of the new version is; undefined when it has none. */
  readonly sourceBlob: string | undefined
}

/**
 * Spec W: Limits. The latest six sources are kept, whichever versions they belong to; a source goes
 * with its version.
 */
function sourceRows(
  context: WorkloadContext,
  job: Job,
  { gone, sourceBlob }: SourceChange,
): Change[] {
  const { job_submissions } = context.store.tables
  const keys = [...job_submissions.keysIn('job', namespacedKey(job.Namespace, job.ID))]
  const kept = keys.filter((version) => !gone.includes(version)).toSorted(compareText)
  const room = LIMITS.jobSourcesMax - (sourceBlob === undefined ? 0 : 1)
  const surplus = [
    ...keys.filter((version) => gone.includes(version)),
    ...kept.slice(0, Math.max(0, kept.length - room)),
  ]
  const removals = surplus.map((version) => remove('job_submissions', version))
  if (sourceBlob === undefined) return removals
  const row: JobSubmissionRow = {
    Namespace: job.Namespace,
    JobID: job.ID,
    Version: job.Version,
    JobModifyIndex: job.JobModifyIndex,
    BlobKey: sourceBlob,
  }
  return [...removals, put('job_submissions', row)]
}

/** The versions of a registered job, oldest first; none of one that is not, or was purged. */
export function versionsOf(
  context: WorkloadContext,
  { namespace, jobId }: Omit<VersionName, 'version'>,
): readonly Job[] {
  const { jobs, job_versions } = context.store.tables
  const key = namespacedKey(namespace, jobId)
  return jobs.has(key) ? job_versions.rowsIn('job', key) : []
}

export function findVersion(context: WorkloadContext, name: VersionName): Job | undefined {
  return versionsOf(context, name).find((row) => row.Version === name.version)
}

/** Reference §2.3: one text for an unknown job and an unknown version. */
export function versionNotFound({ namespace, jobId, version }: VersionName): Refusal {
  return refusal(
    'job-version-not-found',
    `job "${jobId}" in namespace "${namespace}" at version ${version} not found`,
  )
}

/**
 * A version that is marked otherwise: neither a new version nor another specification. The job
 * shows the marks of its current version.
 */
export function markedVersion(
  context: WorkloadContext,
  version: Job,
  {
    marks,
    stamp,
  }: { readonly marks: Partial<Pick<Job, 'Stable' | 'VersionTag'>>; readonly stamp: Stamp },
): Change[] {
  const job = context.store.tables.jobs.get(namespacedKey(version.Namespace, version.ID))
  return [
    put('job_versions', { ...version, ...marks, ModifyIndex: stamp.index }),
    ...(job.Version === version.Version ? [put('jobs', { ...job, ...marks })] : []),
  ]
}

function keyOf(row: Job): string {
  return jobVersionKey(row.Namespace, row.ID, row.Version)
}
