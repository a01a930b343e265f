import type { Job } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isActivePeriodic, periodicChild, refusal, type Refusal } from '../../model/index.ts'
import { childJobRows, namespacedKey, type Tables, type Author } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { originOfRequest } from './versions.ts'

export interface LaunchResult {
  /** Empty if the child is itself periodic or parameterized. */
  readonly evalId: string
  readonly index: number
}

/**
 * Launches an instance outside of the schedule, regardless of overlaps. The schedule is not
 * affected.
 */
export async function forcePeriodicJob(
  { store, ids }: WorkloadContext,
  { by }: Author,
  { namespace, jobId }: { readonly namespace: string; readonly jobId: string },
): Promise<Result<LaunchResult, Refusal>> {
  const parent = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (parent === undefined) return err(refusal('job-not-found', 'job not found'))
  if (parent.Periodic === null)
    return err(refusal('invalid-input', "can't force launch non-periodic job"))
  if (!isActivePeriodic(parent))
    return err(refusal('invalid-input', notPeriodicText(namespace, jobId)))
  const evalId = ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: 'JobRegistered',
    changes: (stamp) =>
      childJobRows(store.tables, nextFreeInstance(store.tables, parent, stamp.timeMs), {
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
 * Instances are named by the second of their launch. If the current one is taken, the latest free
 * one before it is used, because later ones belong to the schedule.
 */
function nextFreeInstance({ jobs }: Tables, parent: Job, nowMs: number): Job {
  for (let launchMs = nowMs; ; launchMs -= 1_000) {
    const child = periodicChild(parent, launchMs)
    if (!jobs.has(namespacedKey(child.Namespace, child.ID))) return child
  }
}

/** Text required by the API contract. */
function notPeriodicText(namespace: string, jobId: string): string {
  const id = JSON.stringify(jobId)
  return `force launch for job ${id} failed: can't force run non-tracked job ${id} (${namespace})`
}
