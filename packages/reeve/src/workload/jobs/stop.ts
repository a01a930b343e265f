import type { Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isClientTerminal,
  isParent,
  newEvaluation,
  refusal,
  withOrigin,
  type Refusal,
} from '../../model/index.ts'
import {
  namespacedKey,
  purgeJobRows,
  put,
  withDerivedRows,
  type Author,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import { STOP_DESCRIPTIONS } from '../../scheduler/index.ts'
import type { WorkloadContext } from '../context.ts'
import { stopInOtherRegions } from './multiregion.ts'
import { originOfRequest, versionRows } from './versions.ts'

interface StopRequest {
  readonly namespace: string
  readonly jobId: string
  readonly purge: boolean
  readonly evalPriority: number
  /** Skip the shutdown delays of group and tasks. */
  readonly noShutdownDelay: boolean
  /** Stop the job in all of its regions with this secret; undefined stops it here only. */
  readonly allRegions?: { readonly secret: string } | undefined
}

interface StopResult {
  readonly evalId: string
  readonly evalCreateIndex: number
  readonly jobModifyIndex: number
  readonly index: number
}

/** Result for an unknown job: stopping is idempotent. */
const UNKNOWN_JOB_RESULT: StopResult = {
  evalId: '',
  evalCreateIndex: 0,
  jobModifyIndex: 0,
  index: 0,
}

/**
 * Stops a job; a multi-region job in all of its regions. Failures in other regions are reported,
 * and the job is then not purged here, so that stopping it can be retried.
 */
export async function stopJob(
  context: WorkloadContext,
  author: Author,
  request: StopRequest,
): Promise<Result<StopResult, Refusal>> {
  const { allRegions, namespace, jobId } = request
  const job = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (allRegions === undefined || context.regions === undefined || !job?.Multiregion)
    return await stopLocally(context, author, request)
  const { regions, region } = context
  const problems = await stopInOtherRegions({
    ...allRegions,
    regions,
    job,
    localRegion: region,
    query: {
      namespace,
      purge: String(request.purge),
      eval_priority: String(request.evalPriority),
      no_shutdown_delay: String(request.noShutdownDelay),
    },
  })
  const isStoppedElsewhere = problems.length === 0
  const stopped = await stopLocally(context, author, {
    ...request,
    purge: request.purge && isStoppedElsewhere,
  })
  if (isStoppedElsewhere || !stopped.ok) return stopped
  return err(partialStopRefusal(problems))
}

/** Returns the failures, with the status of the other regions if it is the same. */
function partialStopRefusal(problems: readonly Refusal[]): Refusal {
  const reasons = problems.map(({ message }) => message).join('; ')
  const [first] = problems
  const isSame = problems.every(({ code }) => code === first?.code)
  return refusal(
    isSame ? (first?.code ?? 'region-unreached') : 'region-unreached',
    `the job is stopped here, and not everywhere: ${reasons}.\n${STOP_AGAIN}`,
  )
}

const STOP_AGAIN =
  'There it goes on running. Stop it again when that is put right: where it is stopped already, ' +
  'nothing changes.'

/** Deregisters the job; the evaluation stops its allocations. */
async function stopLocally(
  context: WorkloadContext,
  { by }: Author,
  request: StopRequest,
): Promise<Result<StopResult, Refusal>> {
  const { evalPriority } = request
  if (evalPriority !== 0 && (evalPriority < 1 || evalPriority > 100))
    return err(refusal('invalid-input', 'Eval priority must be between 1 and 100 inclusively'))
  const job = context.store.tables.jobs.find(namespacedKey(request.namespace, request.jobId))
  if (job === undefined) {
    // The commit that deleted the job may not be durable yet.
    await context.store.whenDurable()
    return ok(UNKNOWN_JOB_RESULT)
  }
  const hasEvaluation = !isParent(job)
  const evalId = hasEvaluation ? context.ids.uuid() : ''
  // Callers enforce this index when they register the job again, so it must be the job's current
  // one.
  const isUnchanged = job.Stop && !request.purge
  const modifyIndex = (commitIndex: number): number =>
    isUnchanged ? job.JobModifyIndex : commitIndex
  const { index, durable } = context.store.commit({
    by,
    cause: 'JobDeregistered',
    // Stopping a job repeatedly would exhaust the disk reserve.
    freesSpace: request.purge || !job.Stop,
    changes: (stamp) =>
      withDerivedRows(context.store.tables, [
        ...(request.purge
          ? purgeJobRows(context.store.tables, job)
          : stoppedVersionRows(context, job, { ...stamp, by })),
        ...stoppingAllocationRows(context, job, {
          stamp,
          noShutdownDelay: request.noShutdownDelay,
        }),
        ...(hasEvaluation
          ? [
              deregisterEvaluation(job, {
                evalId,
                timeMs: stamp.timeMs,
                jobModifyIndex: modifyIndex(stamp.index),
                evalPriority,
              }),
            ]
          : []),
      ]),
  })
  await durable
  return ok({ evalId, evalCreateIndex: index, jobModifyIndex: modifyIndex(index), index })
}

function stoppedVersionRows(context: WorkloadContext, job: Job, stamp: Stamp & Author): Change[] {
  if (job.Stop) return []
  const stopped = {
    ...withOrigin(job, originOfRequest(stamp)),
    Stop: true,
    Version: job.Version + 1,
    // Stable flag and tag belong to the previous version.
    Stable: false,
    VersionTag: null,
    SubmitTime: nsFromMs(stamp.timeMs),
    JobModifyIndex: stamp.index,
    ModifyIndex: stamp.index,
  }
  return versionRows(context, stopped)
}

/**
 * Changes live allocations in the same commit. `no_shutdown_delay` is set on each of them,
 * including those that are stopping and in their delay. While the disk is full no evaluation is
 * processed: allocations are stopped at once, so that their nodes free space.
 */
function stoppingAllocationRows(
  { store }: WorkloadContext,
  job: Job,
  { stamp, noShutdownDelay }: { readonly stamp: Stamp; readonly noShutdownDelay: boolean },
): Change[] {
  const stopsNow = store.restriction !== undefined
  if (!noShutdownDelay && !stopsNow) return []
  const key = namespacedKey(job.Namespace, job.ID)
  const rows = store.tables.allocations.rowsByIndex('job', key)
  const live = rows.filter((row) => !isClientTerminal(row))
  return live.map((row) =>
    put('allocations', {
      ...row,
      ...(stopsNow && { DesiredStatus: 'stop', DesiredDescription: STOP_DESCRIPTIONS.jobStopped }),
      ...(noShutdownDelay && {
        DesiredTransition: { ...row.DesiredTransition, NoShutdownDelay: true },
      }),
      AllocModifyIndex: stamp.index,
      ModifyTime: nsFromMs(stamp.timeMs),
    }),
  )
}

/**
 * Creates the evaluation. Stopping needs no placement, so its type is `service` whatever the job's.
 */
function deregisterEvaluation(
  job: Job,
  options: {
    readonly evalId: string
    readonly timeMs: number
    readonly jobModifyIndex: number
    readonly evalPriority: number
  },
): Change {
  const evaluation = newEvaluation(job, {
    id: options.evalId,
    trigger: 'job-deregister',
    timeMs: options.timeMs,
    jobModifyIndex: options.jobModifyIndex,
    priority: options.evalPriority,
  })
  return put('evaluations', { ...evaluation, Type: 'service' })
}
