import type { JobStabilityRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { checkBodyJobId } from './named-job.ts'
import { findVersion, annotateVersion, versionNotFound } from './versions.ts'

export interface StabilityRequest {
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
