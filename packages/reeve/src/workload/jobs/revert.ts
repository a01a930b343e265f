import type { JobRevertRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { jobUpdateRefusal, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { checkOverride, submitGuarded, type Prepared } from '../guarding/submit-guarded.ts'
import {
  acceptJob,
  commitJob,
  messageProblem,
  specificationKey,
  type JobWritten,
} from './register.ts'
import { namesJob } from './named-job.ts'
import { findSubmission } from './submissions.ts'
import { findVersion, versionNotFound, type VersionName } from './versions.ts'
import { mayUseVolumes } from './volume-rights.ts'

export interface RevertRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobRevertRequest
}

/**
 * An earlier version is registered again, as a new one that is not stable, with the source it was
 * made from. Nothing is awaited between the last checks and the commit, so that of several callers
 * who enforce one prior version one succeeds.
 */
export async function revertJob(
  context: WorkloadContext,
  caller: RequestCaller,
  { namespace, jobId, body }: RevertRequest,
): Promise<Result<JobWritten, Refusal>> {
  const unnamed = namesJob(body, jobId)
  if (unnamed !== undefined) return err(unnamed)
  const message = messageProblem(body)
  if (message !== undefined) return invalid(message)
  const denied = checkOverride(caller, namespace, body)
  if (denied !== undefined) return err(denied)
  return await submitGuarded(
    context,
    { operation: 'revert', caller, override: body },
    {
      prepare: () => prepareRevert(context, caller, { namespace, jobId, body }),
      write: async ({ job, existing, name }, { warnings, record }) => {
        const source = findSubmission(context.store, name)?.BlobKey
        const commit = {
          job,
          current: existing,
          priority: 0,
          source,
          record,
          message: body.Message || `revert to version ${name.version}`,
        }
        const written = await commitJob(context, caller, commit)
        return { ...written, warnings: [...written.warnings, ...warnings] }
      },
    },
  )
}

interface PreparedRevert extends Prepared {
  readonly name: VersionName
}

function prepareRevert(
  context: WorkloadContext,
  caller: Caller,
  { namespace, jobId, body }: RevertRequest,
): Result<PreparedRevert, Refusal> {
  const current = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (current === undefined) return err(refusal('job-not-found', `job "${jobId}" not found`))
  const name: VersionName = { namespace, jobId, version: body.JobVersion ?? 0 }
  if (name.version === current.Version) return invalid("can't revert to current version")
  const target = findVersion(context, name)
  if (target === undefined) return err(versionNotFound(name))
  if (!mayUseVolumes(caller.grants, namespace, target)) return err(PERMISSION_DENIED)
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
  return ok({
    job: { ...job.value, ServiceTokenID: caller.accessorId },
    existing: current,
    jobId,
    key: `${specificationKey(current)}/${specificationKey(target)}`,
    name,
  })
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
