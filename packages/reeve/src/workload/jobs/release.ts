import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  hasPlacementHold,
  newEvaluation,
  refusal,
  withoutQuarantine,
  type Refusal,
} from '../../model/index.ts'
import { namespacedKey, put, withDerivedRows, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { JobWriteResult } from './register.ts'

export interface ReleaseRequest {
  readonly namespace: string
  readonly jobId: string
}

/**
 * Ends the quarantine of a job, or the delay of its placements after the loss of a node, and
 * evaluates it. The losses so far no longer count against it (decision 0061).
 */
export async function releaseJob(
  { store, ids }: WorkloadContext,
  { by }: Author,
  { namespace, jobId }: ReleaseRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  const job = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  if (!hasPlacementHold(job))
    return err(
      refusal(
        'job-not-quarantined',
        `job "${jobId}" is not quarantined and its placements are not delayed: ` +
          `see what it waits for with "reeve job explain ${jobId}"`,
      ),
    )
  const evalId = ids.uuid()
  const { JobModifyIndex: jobModifyIndex } = job
  const { index, durable } = store.commit({
    by,
    cause: 'JobReleased',
    changes: ({ timeMs }) =>
      withDerivedRows(store.tables, [
        put('jobs', withoutQuarantine(job)),
        put(
          'evaluations',
          newEvaluation(job, { id: evalId, trigger: 'job-register', timeMs, jobModifyIndex }),
        ),
      ]),
  })
  await durable
  return ok({ evalId, evalCreateIndex: index, jobModifyIndex, index, warnings: [] })
}
