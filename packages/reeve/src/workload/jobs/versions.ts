import {
  type Input,
  type Job,
  type JobStabilityRequest,
  type JobSubmission,
  type JobTagRequest,
  type JobVersionTag,
  SUBMISSION_FORMATS,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  type JobSubmissionRow,
  LIMITS,
  refusal,
  type Refusal,
  type VersionOrigin,
  invalidInput,
} from '../../model/index.ts'
import {
  namespacedKey,
  put,
  versionRows as rowsOfVersion,
  type Author,
  type Change,
  type Stamp,
  type Store,
  jobVersionKey,
  type BlobChange,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { checkBodyJobId } from './checks.ts'

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
function annotateVersion(
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

interface VersionTagRef {
  readonly namespace: string
  readonly jobId: string
  readonly tag: string
}

interface TagResult {
  readonly index: number
  readonly tag: JobVersionTag
}

/**
 * Tags a version; the newest unless one is given. A version has at most one tag, which is unique
 * within its job. Tagging a version again replaces its tag.
 */
export async function tagVersion(
  context: WorkloadContext,
  { by }: Author,
  name: VersionTagRef,
  body: JobTagRequest,
): Promise<Result<TagResult, Refusal>> {
  const Description = body.Description ?? ''
  const problem = tagProblem(name.tag, Description)
  if (problem !== undefined) return invalidInput(problem)
  const versions = versionsOf(context, name)
  const versionRef = { ...name, version: body.Version ?? versions.at(-1)?.Version ?? 0 }
  const version = versions.find((row) => row.Version === versionRef.version)
  if (version === undefined) return err(versionNotFound(versionRef))
  const conflict = tagConflict(
    versions.filter((row) => row !== version),
    name,
  )
  if (conflict !== undefined) return invalidInput(conflict)
  const tagAt = (timeMs: number): JobVersionTag => ({
    Name: name.tag,
    Description,
    TaggedTime: nsFromMs(timeMs),
  })
  const { index, timeMs, durable } = context.store.commit({
    by,
    cause: undefined,
    changes: (stamp) =>
      annotateVersion(context, version, {
        annotations: { VersionTag: tagAt(stamp.timeMs) },
        stamp,
      }),
  })
  await durable
  return ok({ index, tag: tagAt(timeMs) })
}

function tagProblem(tag: string, description: string): string | undefined {
  if (tag === '') return 'tag name is required'
  if (tag.length > LIMITS.pathParamCharsMax)
    return `tag name is longer than ${LIMITS.pathParamCharsMax} characters`
  return description.length > LIMITS.tagDescriptionCharsMax
    ? `tag description is longer than ${LIMITS.tagDescriptionCharsMax} characters`
    : undefined
}

function tagConflict(others: readonly Job[], { jobId, tag }: VersionTagRef): string | undefined {
  const tagged = others.filter((row) => row.VersionTag !== null)
  if (tagged.some((row) => row.VersionTag?.Name === tag))
    return `tag "${tag}" already exists on a different version of job "${jobId}"`
  return tagged.length >= LIMITS.jobTagsMax
    ? `job "${jobId}" has ${tagged.length} tagged versions, which is the limit`
    : undefined
}

/** Removes a tag. The version is retained until newer ones replace it. */
export async function untagVersion(
  context: WorkloadContext,
  { by }: Author,
  name: VersionTagRef,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const version = versionsOf(context, name).find((row) => row.VersionTag?.Name === name.tag)
  if (version === undefined) return err(tagNotFound(name.tag))
  const { index, durable } = context.store.commit({
    by,
    cause: undefined,
    changes: (stamp) =>
      annotateVersion(context, version, { annotations: { VersionTag: null }, stamp }),
  })
  await durable
  return ok({ index })
}

export function tagNotFound(tag: string): Refusal {
  return refusal('job-version-not-found', `tag "${tag}" not found`)
}

interface StabilityRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobStabilityRequest
}

/**
 * Sets the Stable flag of a version. Failed deployments revert to the newest stable version;
 * setting the flag emits no event.
 */
export async function setStability(
  context: WorkloadContext,
  { by }: Author,
  { namespace, jobId, body }: StabilityRequest,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const idProblem = checkBodyJobId(body, jobId)
  if (idProblem !== undefined) return err(idProblem)
  const name = { namespace, jobId, version: body.JobVersion ?? 0 }
  const version = findVersion(context, name)
  if (version === undefined) return err(versionNotFound(name))
  const annotations = { Stable: body.Stable ?? false }
  const { index, durable } = context.store.commit({
    by,
    cause: undefined,
    changes: (stamp) => annotateVersion(context, version, { annotations, stamp }),
  })
  await durable
  return ok({ index })
}

/** Content of the blob of a submission: the fields that the caller supplied. */
type SourceContent = Pick<JobSubmission, 'Source' | 'Format' | 'VariableFlags' | 'Variables'>

interface EncodedSource {
  /** The encoded source; undefined if there is none, or it is not stored. */
  readonly bytes: Uint8Array | undefined
  readonly warnings: readonly string[]
}

const NO_SOURCE: EncodedSource = { bytes: undefined, warnings: [] }

/** Validates the format of a submission. An absent format is accepted. */
export function submissionFormatProblem(
  submission: Input<JobSubmission> | null | undefined,
): string | undefined {
  const format = submission?.Format ?? ''
  const formats: readonly string[] = SUBMISSION_FORMATS
  if (format === '' || formats.includes(format)) return undefined
  return `Submission.Format must be one of ${formats.join(', ')}`
}

/** Encodes the source of a submission. A source that is too large is dropped with a warning. */
export function encodeSource(submission: Input<JobSubmission> | null | undefined): EncodedSource {
  const source = submission?.Source ?? ''
  if (source === '') return NO_SOURCE
  const flags = Object.entries(submission?.VariableFlags ?? {})
  const content: SourceContent = {
    Source: source,
    Format: submission?.Format ?? '',
    VariableFlags:
      flags.length === 0
        ? null
        : Object.fromEntries(flags.map(([name, value]) => [name, value ?? ''])),
    Variables: submission?.Variables ?? '',
  }
  const size = sourceBytes(content)
  if (size <= LIMITS.jobSourceBytesMax)
    return { bytes: new TextEncoder().encode(JSON.stringify(content)), warnings: [] }
  const [sizeText, limitText] = [formatBytes(size), formatBytes(LIMITS.jobSourceBytesMax)]
  const warning = `job source size of ${sizeText} exceeds maximum of ${limitText} and will be discarded`
  return { bytes: undefined, warnings: [warning] }
}

/** Returns the size of all stored fields. */
function sourceBytes({ Source, Format, Variables, VariableFlags }: SourceContent): number {
  const texts = [Source, Format, Variables, ...Object.entries(VariableFlags ?? {}).flat()]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** Formats bytes in units of a thousand with at least two digits: `912 B`, `1.3 MB`, `12 MB`. */
function formatBytes(bytes: number): string {
  const UNITS = ['B', 'kB', 'MB', 'GB']
  let [value, unit] = [bytes, 0]
  while (value >= 1000 && unit < UNITS.length - 1) [value, unit] = [value / 1000, unit + 1]
  return `${unit > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit] ?? ''}`
}

interface SourceBlob {
  /** Undefined if the version has no source. */
  readonly sourceBlob: string | undefined
  readonly blobs: readonly BlobChange[]
}

/**
 * Returns the blobs to store for the source of a new version: none if an existing blob is shared.
 */
export function sourceBlobChange(
  source: Uint8Array | string | undefined,
  { namespace, jobId, version }: JobVersionRef,
): SourceBlob {
  if (source === undefined || typeof source === 'string') return { sourceBlob: source, blobs: [] }
  const key = `job-source/${jobVersionKey(namespace, jobId, version)}`
  return { sourceBlob: key, blobs: [{ key, bytes: source }] }
}

/** Returns the version with a source; undefined if it has none, or the job is not registered. */
export function findSubmission(
  { tables }: Store,
  name: JobVersionRef,
): JobSubmissionRow | undefined {
  if (!tables.jobs.has(namespacedKey(name.namespace, name.jobId))) return undefined
  return tables.job_submissions.find(jobVersionKey(name.namespace, name.jobId, name.version))
}

export async function readSubmission(
  store: Store,
  name: JobVersionRef,
): Promise<JobSubmission | undefined> {
  // A blob is readable once it is durable, slightly later than its row.
  await store.whenDurable()
  const row = findSubmission(store, name)
  const bytes = row === undefined ? undefined : await store.readBlob(row.BlobKey)
  if (row === undefined || bytes === undefined) return undefined
  // Written by encodeSource.
  const stored = JSON.parse(new TextDecoder().decode(bytes)) as SourceContent
  return {
    ...stored,
    VariableFlags: decodeFlags(stored.VariableFlags),
    Namespace: row.Namespace,
    JobID: row.JobID,
    Version: row.Version,
    JobIndex: row.JobModifyIndex,
    JobModifyIndex: row.JobModifyIndex,
  }
}

/** Decodes query-escaped values; invalid escapes are kept unchanged. */
function decodeFlags(flags: SourceContent['VariableFlags']): SourceContent['VariableFlags'] {
  if (flags === null) return null
  return Object.fromEntries(
    Object.entries(flags).map(([name, value]) => [name, decodeQueryValue(value)]),
  )
}

function decodeQueryValue(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '))
  } catch (thrown) {
    if (thrown instanceof URIError) return value
    throw thrown
  }
}
