import type { JobRevertRequest } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  jobUpdateProblem,
  PERMISSION_DENIED,
  refusal,
  type Refusal,
  invalidInput,
} from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  checkOverridePermission,
  enforceAndWrite,
  type PreparedWrite,
} from '../policy-enforcement/enforce.ts'
import { canonicalizeAndValidate, commitJob, specKey, type JobWriteResult } from './job-commit.ts'
import { checkBodyJobId, mayUseVolumes, versionMessageProblem } from './checks.ts'
import { findSubmission, findVersion, type JobVersionRef, versionNotFound } from './versions.ts'

export interface RevertRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobRevertRequest
}

/**
 * Registers an earlier version again as a new version that is not stable, with its source. Nothing
 * is awaited between the last checks and the commit, so that only one of several callers who
 * enforce the same prior version succeeds.
 */
export async function revertJob(
  context: WorkloadContext,
  caller: RequestCaller,
  { namespace, jobId, body }: RevertRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  const idProblem = checkBodyJobId(body, jobId)
  if (idProblem !== undefined) return err(idProblem)
  const message = versionMessageProblem(body)
  if (message !== undefined) return invalidInput(message)
  const denied = checkOverridePermission(caller, namespace, body)
  if (denied !== undefined) return err(denied)
  return await enforceAndWrite(
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
        const result = await commitJob(context, caller, commit)
        return { ...result, warnings: [...result.warnings, ...warnings] }
      },
    },
  )
}

interface PreparedRevert extends PreparedWrite {
  readonly name: JobVersionRef
}

function prepareRevert(
  context: WorkloadContext,
  caller: Caller,
  { namespace, jobId, body }: RevertRequest,
): Result<PreparedRevert, Refusal> {
  const current = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (current === undefined) return err(refusal('job-not-found', `job "${jobId}" not found`))
  const name: JobVersionRef = { namespace, jobId, version: body.JobVersion ?? 0 }
  if (name.version === current.Version) return invalidInput("can't revert to current version")
  const target = findVersion(context, name)
  if (target === undefined) return err(versionNotFound(name))
  if (!mayUseVolumes(caller.grants, namespace, target)) return err(PERMISSION_DENIED)
  const expectedVersion = body.EnforcePriorVersion ?? current.Version
  if (expectedVersion !== current.Version)
    return err(
      refusal(
        'index-conflict',
        `Current job has version ${current.Version}; enforcing version ${expectedVersion}`,
      ),
    )
  // The rules may be stricter now than when the version was registered.
  const job = canonicalizeAndValidate(context, target, namespace)
  if (!job.ok) return job
  const change = jobUpdateProblem(current, job.value)
  if (change !== undefined) return invalidInput(change)
  return ok({
    job: { ...job.value, ServiceTokenID: caller.accessorId },
    existing: current,
    jobId,
    key: `${specKey(current)}/${specKey(target)}`,
    name,
  })
}
