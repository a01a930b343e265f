import { SUBMISSION_FORMATS, type Input, type JobSubmission } from '@reeve/contract'
import { LIMITS, type JobSubmissionRow } from '../../model/index.ts'
import { jobVersionKey, namespacedKey, type BlobChange, type Store } from '../../state/index.ts'
import type { JobVersionRef } from './versions.ts'

/** Content of the blob of a submission: the fields that the caller supplied. */
type SourceContent = Pick<JobSubmission, 'Source' | 'Format' | 'VariableFlags' | 'Variables'>

export interface EncodedSource {
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

export interface SourceBlob {
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
