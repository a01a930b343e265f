import type { Job, JobScaleRequest, ScalingEvent } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isParent,
  LIMITS,
  newEvaluation,
  refusal,
  scaleProblem,
  scaleRequestProblem,
  withCount,
  withOrigin,
  withScalingEvent,
  type Refusal,
  type ScaleWish,
} from '../../model/index.ts'
import {
  namespacedKey,
  put,
  scalingEventsKey,
  withJobRows,
  type Author,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  checkOverride,
  submitGuarded,
  UNGUARDED,
  type Allowed,
  type Prepared,
} from '../guarding/submit-guarded.ts'
import { checkRegistrationEnabled } from '../scheduler-configuration.ts'
import { specificationKey } from './register.ts'
import { originOfRequest, versionRows } from './versions.ts'

export interface ScaleRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobScaleRequest
}

export interface JobScaled {
  /** Undefined if no evaluation was created. */
  readonly evalId: string | undefined
  readonly jobModifyIndex: number
  readonly index: number
  readonly warnings: readonly string[]
}

/** Scales a group. Clients see the first refusal, so the order of the checks is part of the API. */
export async function scaleJob(
  context: WorkloadContext,
  caller: RequestCaller,
  request: ScaleRequest,
): Promise<Result<JobScaled, Refusal>> {
  const { store } = context
  const { namespace, body } = request
  const denied = checkOverride(caller, namespace, body)
  if (denied !== undefined) return err(denied)
  const disabled = checkRegistrationEnabled(store, caller)
  if (disabled !== undefined) return err(disabled)
  const wish = wishOf(request)
  if (!wish.ok) return invalid(wish.error)
  const prepare = () => prepareScale(context, request, wish.value)
  // Without a count only an event is recorded, which policies do not apply to.
  if (wish.value.count === undefined) {
    const prepared = prepare()
    return prepared.ok
      ? ok(
          await commitScale(context, caller, prepared.value.existing, {
            wish: wish.value,
            allowed: UNGUARDED,
          }),
        )
      : prepared
  }
  return await submitGuarded(
    context,
    { operation: 'scale', caller, override: body },
    {
      prepare,
      write: ({ existing }, allowed) =>
        commitScale(context, caller, existing, { wish: wish.value, allowed }),
    },
  )
}

interface PreparedScale extends Prepared {
  readonly existing: Job
}

function prepareScale(
  context: WorkloadContext,
  { namespace, jobId, body }: ScaleRequest,
  wish: ScaleWish,
): Result<PreparedScale, Refusal> {
  const job = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (job === undefined)
    return err(refusal('job-not-found', `job ${JSON.stringify(jobId)} not found`))
  const problem = scaleProblem(job, wish)
  if (problem !== undefined) return invalid(problem)
  const conflict = wish.count === undefined ? undefined : checkJob(context, job, body)
  if (conflict !== undefined) return err(conflict)
  return ok({ job: withCount(job, wish), existing: job, jobId, key: specificationKey(job) })
}

function wishOf({ namespace, jobId, body }: ScaleRequest): Result<ScaleWish, string> {
  const target = body.Target ?? {}
  if ((target['Job'] ?? '') !== '' && target['Job'] !== jobId)
    return err('job ID in payload did not match URL')
  if ((target['Namespace'] ?? '') !== '' && target['Namespace'] !== namespace)
    return err('namespace in payload did not match header')
  const error = body.Error ?? false
  // A text marks an error, and is its message if there is no other.
  const text = typeof error === 'string' ? error : ''
  const wish: ScaleWish = {
    group: target['Group'] ?? '',
    count: body.Count ?? undefined,
    message: body.Message || text,
    isError: error === true || text !== '',
    meta: body.Meta ?? null,
  }
  const problem = scaleRequestProblem(wish)
  return problem === undefined ? ok(wish) : err(problem)
}

/** Returns the refusal of a new version of this job. */
function checkJob(
  { store }: WorkloadContext,
  job: Job,
  body: JobScaleRequest,
): Refusal | undefined {
  const active = store.tables.deployments.rowsIn('active', namespacedKey(job.Namespace, job.ID))
  if (active.some((deployment) => deployment.JobCreateIndex === job.CreateIndex))
    return refusal('invalid-input', 'job scaling blocked due to active deployment')
  const given = body.JobModifyIndex ?? 0
  if (given <= 0 || given === job.JobModifyIndex) return undefined
  return refusal(
    'index-conflict',
    `Enforcing job modify index ${given}: job exists with conflicting job modify index: ${job.JobModifyIndex}`,
  )
}

interface AllowedScale {
  readonly wish: ScaleWish
  readonly allowed: Allowed
}

/** Commits the event, and with a count the new version and its evaluation. */
async function commitScale(
  context: WorkloadContext,
  { by }: Author,
  job: Job,
  { wish, allowed: { warnings, record } }: AllowedScale,
): Promise<JobScaled> {
  const { store, ids } = context
  const evalId = wish.count === undefined || isParent(job) ? undefined : ids.uuid()
  const isNewVersion = withCount(job, wish) !== job
  const { index, durable } = store.commit({
    by,
    cause: isNewVersion ? 'JobRegistered' : 'EvaluationUpdated',
    blobs: record.blobs,
    changes: (stamp) => {
      const next = isNewVersion ? scaledVersion(job, wish, { ...stamp, by }) : job
      const rows = withJobRows(store.tables, [
        ...(isNewVersion ? versionRows(context, next) : []),
        ...(evalId === undefined ? [] : [evaluationRow(next, evalId, stamp)]),
        eventRow(context, job, { wish, evalId, stamp }),
      ])
      return [...rows, ...record.changes(stamp)]
    },
  })
  await durable
  return { evalId, jobModifyIndex: isNewVersion ? index : job.JobModifyIndex, index, warnings }
}

function scaledVersion(job: Job, wish: ScaleWish, { index, timeMs, by }: Stamp & Author): Job {
  const message = wish.message.slice(0, LIMITS.jobMessageCharsMax)
  return {
    ...withOrigin(withCount(job, wish), originOfRequest({ by }, message)),
    Version: job.Version + 1,
    // A tag stays with its version.
    VersionTag: null,
    Stable: false,
    SubmitTime: nsFromMs(timeMs),
    JobModifyIndex: index,
    ModifyIndex: index,
  }
}

function evaluationRow(job: Job, id: string, { timeMs }: Stamp): Change {
  const { JobModifyIndex: jobModifyIndex } = job
  return put(
    'evaluations',
    newEvaluation(job, { id, trigger: 'job-scaling', timeMs, jobModifyIndex }),
  )
}

interface Scaling {
  readonly wish: ScaleWish
  readonly evalId: string | undefined
  readonly stamp: Stamp
}

function eventRow({ store }: WorkloadContext, job: Job, { wish, evalId, stamp }: Scaling): Change {
  const group = job.TaskGroups.find(({ Name }) => Name === wish.group)
  const event: ScalingEvent = {
    Time: nsFromMs(stamp.timeMs),
    Count: wish.count ?? null,
    PreviousCount: group?.Count ?? 0,
    Message: wish.message,
    Error: wish.isError,
    Meta: wish.meta,
    EvalID: evalId ?? null,
    CreateIndex: stamp.index,
  }
  const { Namespace, ID: JobID } = job
  const key = scalingEventsKey(Namespace, JobID, wish.group)
  const before = store.tables.scaling_events.find(key)?.Events ?? []
  const Events = withScalingEvent(before, event)
  const row = { Namespace, JobID, Group: wish.group, Events, CreateIndex: 0, ModifyIndex: 0 }
  return put('scaling_events', row)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
