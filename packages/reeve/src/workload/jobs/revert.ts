import type { JobRevertRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import { jobUpdateRefusal, refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { acceptJob, commitJob, type JobWritten } from './register.ts'
import { namesJob } from './named-job.ts'
import { findSubmission } from './submissions.ts'
import { findVersion, versionNotFound, type VersionName } from './versions.ts'

export interface RevertRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobRevertRequest
}

/**
 * Spec W: Revert. An earlier version is registered again, as a new one that is not stable, with the
 * source it was made from. Nothing is awaited between the checks and the commit, so that of several
 * callers who enforce one prior version one succeeds.
 */
export async function revertJob(
  context: WorkloadContext,
  caller: Caller,
  { namespace, jobId, body }: RevertRequest,
): Promise<Result<JobWritten, Refusal>> {
  const unnamed = namesJob(body, jobId)
  if (unnamed !== undefined) return err(unnamed)
  const current = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (current === undefined) return err(refusal('job-not-found', `job "${jobId}" not found`))
  const name: VersionName = { namespace, jobId, version: body.JobVersion ?? 0 }
  if (name.version === current.Version) return invalid("can't revert to current version")
  const target = findVersion(context, name)
  if (target === undefined) return err(versionNotFound(name))
  const prior = body.EnforcePriorVersion ?? current.Version
  if (prior !== current.Version)
    return err(
      refusal(
        'index-conflict',
        `Current job has version ${current.Version}; enforcing version ${prior}`,
      ),
    )
  // The rules may be stricter now than when the version was registered.
  const job = acceptJob(context, target, namespace)
  if (!job.ok) return job
  const change = jobUpdateRefusal(current, job.value)
  if (change !== undefined) return invalid(change)
  const written = await commitJob(context, {
    job: { ...job.value, ServiceTokenID: caller.accessorId },
    current,
    priority: 0,
    source: findSubmission(context.store, name)?.BlobKey,
  })
  return ok(written)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
