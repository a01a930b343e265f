import type { Job, JobTagRequest, JobVersionTag } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { annotateVersion, versionNotFound, versionsOf } from './versions.ts'

export interface VersionTagRef {
  readonly namespace: string
  readonly jobId: string
  readonly tag: string
}

export interface TagResult {
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
  if (problem !== undefined) return invalid(problem)
  const versions = versionsOf(context, name)
  const versionRef = { ...name, version: body.Version ?? versions.at(-1)?.Version ?? 0 }
  const version = versions.find((row) => row.Version === versionRef.version)
  if (version === undefined) return err(versionNotFound(versionRef))
  const conflict = tagConflict(
    versions.filter((row) => row !== version),
    name,
  )
  if (conflict !== undefined) return invalid(conflict)
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

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
