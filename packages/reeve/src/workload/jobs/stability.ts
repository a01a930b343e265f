import type { JobStabilityRequest } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { namesJob } from './named-job.ts'
import { findVersion, markedVersion, versionNotFound } from './versions.ts'

export interface StabilityRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobStabilityRequest
}

/** Deployments that fail go back to the newest stable version; the mark itself is no event. */
export async function setStability(
  context: WorkloadContext,
  { by }: Author,
  { namespace, jobId, body }: StabilityRequest,
): Promise<Result<{ readonly index: number }, Refusal>> {
  const unnamed = namesJob(body, jobId)
  if (unnamed !== undefined) return err(unnamed)
  const name = { namespace, jobId, version: body.JobVersion ?? 0 }
  const version = findVersion(context, name)
  if (version === undefined) return err(versionNotFound(name))
  const marks = { Stable: body.Stable ?? false }
  const { index, durable } = context.store.commit({
    by,
    cause: undefined,
    changes: (stamp) => markedVersion(context, version, { marks, stamp }),
  })
  await durable
  return ok({ index })
}
