import type { Job } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isLaunchedByTime, periodicChild, refusal, type Refusal } from '../../model/index.ts'
import { childRows, namespacedKey, type Tables, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { originOfRequest } from './versions.ts'

export interface JobLaunched {
  /** Empty when the child waits for launches of its own. */
  readonly evalId: string
  readonly index: number
}

/**
 * An instance beside those of the schedule, whatever overlaps; the schedule goes on as if it had
 * not been.
 */
export async function forcePeriodicJob(
  { store, ids }: WorkloadContext,
  { by }: Author,
  { namespace, jobId }: { readonly namespace: string; readonly jobId: string },
): Promise<Result<JobLaunched, Refusal>> {
  const parent = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (parent === undefined) return err(refusal('job-not-found', 'job not found'))
  if (parent.Periodic === null)
    return err(refusal('invalid-input', "can't force launch non-periodic job"))
  if (!isLaunchedByTime(parent)) return err(refusal('invalid-input', notTracked(namespace, jobId)))
  const evalId = ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'JobRegistered',
    changes: (stamp) =>
      childRows(store.tables, newInstance(store.tables, parent, stamp.timeMs), {
        stamp,
        ids,
        evalId,
        trigger: 'periodic-job',
        origin: { ...originOfRequest({ by }), origin: 'periodic' },
      }),
  })
  await durable
  return ok({ evalId, index })
}

/**
 * Instances are named by a second, so one that is taken is not used again: the latest free one
 * before it is. Later ones belong to the schedule.
 */
function newInstance({ jobs }: Tables, parent: Job, nowMs: number): Job {
  for (let launchMs = nowMs; ; launchMs -= 1_000) {
    const child = periodicChild(parent, launchMs)
    if (!jobs.has(namespacedKey(child.Namespace, child.ID))) return child
  }
}

/** Contract. */
function notTracked(namespace: string, jobId: string): string {
  const id = JSON.stringify(jobId)
  return `force launch for job ${id} failed: can't force run non-tracked job ${id} (${namespace})`
}
