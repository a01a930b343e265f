import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { refusal, type Refusal, type VersionOrigin } from '../../model/index.ts'
import {
  namespacedKey,
  put,
  versionRows as rowsOfVersion,
  type Author,
  type Change,
  type Stamp,
  type Store,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Identifies a version of a job. */
export interface JobVersionRef {
  readonly namespace: string
  readonly jobId: string
  readonly version: number
}

/** Returns the origin of a version that a request creates. */
export function originOfRequest({ by }: Author, message = ''): VersionOrigin {
  if (by === 'system') return { submittedBy: undefined, origin: 'server', message }
  const { Type, ID, Name } = by.actor
  const submittedBy = Type === 'disabled' ? undefined : { Type, ID, Name }
  return { submittedBy, origin: by.client ?? 'api', message }
}

/** Returns the rows of a new version; `sourceBlob` is the key of its source, if it has one. */
export function versionRows(
  { store, ids }: WorkloadContext,
  version: Job,
  sourceBlob?: string,
): Change[] {
  return rowsOfVersion(store.tables, version, { ids, sourceBlob })
}

/**
 * Returns the keys of a registered job's versions, oldest first; none for an unknown or purged job.
 * Versions retained by allocations of a purged job with the same ID are not included.
 */
export function versionKeysOf(
  { tables }: Pick<Store, 'tables'>,
  jobKey: string,
): readonly string[] {
  const { jobs, job_versions } = tables
  const registeredIndex = jobs.find(jobKey)?.CreateIndex
  return [...job_versions.keysByIndex('job', jobKey)]
    .filter((key) => job_versions.find(key)?.CreateIndex === registeredIndex)
    .toSorted(compareText)
}

export function versionsOf(
  { store }: WorkloadContext,
  { namespace, jobId }: Omit<JobVersionRef, 'version'>,
): readonly Job[] {
  const { job_versions } = store.tables
  return versionKeysOf(store, namespacedKey(namespace, jobId)).map((key) => job_versions.get(key))
}

export function findVersion(context: WorkloadContext, name: JobVersionRef): Job | undefined {
  return versionsOf(context, name).find((row) => row.Version === name.version)
}

/** Returns one error for an unknown job and an unknown version. */
export function versionNotFound({ namespace, jobId, version }: JobVersionRef): Refusal {
  return refusal(
    'job-version-not-found',
    `job "${jobId}" in namespace "${namespace}" at version ${version} not found`,
  )
}

/**
 * Returns the rows that change the annotations of a version, which creates no new version and does
 * not change the specification. The job row has the annotations of its current version.
 */
export function annotateVersion(
  context: WorkloadContext,
  version: Job,
  {
    annotations,
    stamp,
  }: { readonly annotations: Partial<Pick<Job, 'Stable' | 'VersionTag'>>; readonly stamp: Stamp },
): Change[] {
  const job = context.store.tables.jobs.get(namespacedKey(version.Namespace, version.ID))
  return [
    put('job_versions', { ...version, ...annotations, ModifyIndex: stamp.index }),
    ...(job.Version === version.Version ? [put('jobs', { ...job, ...annotations })] : []),
  ]
}
