import type { Job, JobScaleRequest, ScalingEvent } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isParent,
  LIMITS,
  newEvaluation,
  refusal,
  scaleTargetProblem,
  scaleRequestProblem,
  withCount,
  withOrigin,
  withScalingEvent,
  type Refusal,
  type ScaleAction,
  invalidInput,
} from '../../model/index.ts'
import {
  namespacedKey,
  put,
  scalingEventsKey,
  withDerivedRows,
  type Author,
  type Change,
  type Stamp,
} from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import {
  checkOverridePermission,
  enforceAndWrite,
  NO_POLICIES_APPLIED,
  type EnforcementResult,
  type PreparedWrite,
} from '../policy-enforcement/enforce.ts'
import { checkRegistrationEnabled } from '../operator.ts'
import { specKey } from './job-commit.ts'
import { originOfRequest, versionRows } from './versions.ts'

interface ScaleRequest {
  readonly namespace: string
  readonly jobId: string
  readonly body: JobScaleRequest
}

interface ScaleResult {
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
): Promise<Result<ScaleResult, Refusal>> {
  const { store } = context
  const { namespace, body } = request
  const denied = checkOverridePermission(caller, namespace, body)
  if (denied !== undefined) return err(denied)
  const disabled = checkRegistrationEnabled(store, caller)
  if (disabled !== undefined) return err(disabled)
  const scaling = parseScaleRequest(request)
  if (!scaling.ok) return invalidInput(scaling.error)
  const prepare = () => prepareScale(context, request, scaling.value)
  // Without a count only an event is recorded, which policies do not apply to.
  if (scaling.value.count === undefined) {
    const prepared = prepare()
    return prepared.ok
      ? ok(
          await commitScale(context, caller, prepared.value.existing, {
            scaling: scaling.value,
            policyResult: NO_POLICIES_APPLIED,
          }),
        )
      : prepared
  }
  return await enforceAndWrite(
    context,
    { operation: 'scale', caller, override: body },
    {
      prepare,
      write: ({ existing }, policyResult) =>
        commitScale(context, caller, existing, { scaling: scaling.value, policyResult }),
    },
  )
}

interface PreparedScaling extends PreparedWrite {
  readonly existing: Job
}

function prepareScale(
  context: WorkloadContext,
  { namespace, jobId, body }: ScaleRequest,
  scaling: ScaleAction,
): Result<PreparedScaling, Refusal> {
  const job = context.store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (job === undefined)
    return err(refusal('job-not-found', `job ${JSON.stringify(jobId)} not found`))
  const problem = scaleTargetProblem(job, scaling)
  if (problem !== undefined) return invalidInput(problem)
  const conflict = scaling.count === undefined ? undefined : checkScalable(context, job, body)
  if (conflict !== undefined) return err(conflict)
  return ok({ job: withCount(job, scaling), existing: job, jobId, key: specKey(job) })
}

function parseScaleRequest({ namespace, jobId, body }: ScaleRequest): Result<ScaleAction, string> {
  if (jobId === '') return err('missing job ID for scaling action')
  const target = body.Target ?? {}
  if ((target['Job'] ?? '') !== '' && target['Job'] !== jobId)
    return err('job ID in payload did not match URL')
  if ((target['Namespace'] ?? '') !== '' && target['Namespace'] !== namespace)
    return err('namespace in payload did not match header')
  const error = body.Error ?? false
  // A text marks an error, and is its message if there is no other.
  const text = typeof error === 'string' ? error : ''
  const scaling: ScaleAction = {
    group: target['Group'] ?? '',
    count: body.Count ?? undefined,
    message: body.Message || text,
    isError: error === true || text !== '',
    meta: body.Meta ?? null,
  }
  const problem = scaleRequestProblem(scaling)
  return problem === undefined ? ok(scaling) : err(problem)
}

/** Returns the refusal of a new version of this job. */
function checkScalable(
  { store }: WorkloadContext,
  job: Job,
  body: JobScaleRequest,
): Refusal | undefined {
  const active = store.tables.deployments.rowsByIndex(
    'active',
    namespacedKey(job.Namespace, job.ID),
  )
  if (active.some((deployment) => deployment.JobCreateIndex === job.CreateIndex))
    return refusal('invalid-input', 'job scaling blocked due to active deployment')
  const expectedIndex = body.JobModifyIndex ?? 0
  if (expectedIndex <= 0 || expectedIndex === job.JobModifyIndex) return undefined
  return refusal(
    'index-conflict',
    `Enforcing job modify index ${expectedIndex}: job exists with conflicting job modify index: ${job.JobModifyIndex}`,
  )
}

interface ScaleCommitInput {
  readonly scaling: ScaleAction
  readonly policyResult: EnforcementResult
}

/** Commits the event, and with a count the new version and its evaluation. */
async function commitScale(
  context: WorkloadContext,
  { by }: Author,
  job: Job,
  { scaling, policyResult: { warnings, record } }: ScaleCommitInput,
): Promise<ScaleResult> {
  const { store, ids } = context
  const evalId = scaling.count === undefined || isParent(job) ? undefined : ids.uuid()
  const isNewVersion = withCount(job, scaling) !== job
  const { index, durable } = store.commit({
    by,
    cause: isNewVersion ? 'JobRegistered' : 'EvaluationUpdated',
    blobs: record.blobs,
    changes: (stamp) => {
      const next = isNewVersion ? scaledVersionRow(job, scaling, { ...stamp, by }) : job
      const rows = withDerivedRows(store.tables, [
        ...(isNewVersion ? versionRows(context, next) : []),
        ...(evalId === undefined ? [] : [evaluationRow(next, evalId, stamp)]),
        scalingEventChange(context, job, { scaling, evalId, stamp }),
      ])
      return [...rows, ...record.changes(stamp)]
    },
  })
  await durable
  return { evalId, jobModifyIndex: isNewVersion ? index : job.JobModifyIndex, index, warnings }
}

function scaledVersionRow(
  job: Job,
  scaling: ScaleAction,
  { index, timeMs, by }: Stamp & Author,
): Job {
  const message = scaling.message.slice(0, LIMITS.jobMessageCharsMax)
  return {
    ...withOrigin(withCount(job, scaling), originOfRequest({ by }, message)),
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

interface ScalingEventInput {
  readonly scaling: ScaleAction
  readonly evalId: string | undefined
  readonly stamp: Stamp
}

function scalingEventChange(
  { store }: WorkloadContext,
  job: Job,
  { scaling, evalId, stamp }: ScalingEventInput,
): Change {
  const group = job.TaskGroups.find(({ Name }) => Name === scaling.group)
  const event: ScalingEvent = {
    Time: nsFromMs(stamp.timeMs),
    Count: scaling.count ?? null,
    PreviousCount: group?.Count ?? 0,
    Message: scaling.message,
    Error: scaling.isError,
    Meta: scaling.meta,
    EvalID: evalId ?? null,
    CreateIndex: stamp.index,
  }
  const { Namespace, ID: JobID } = job
  const key = scalingEventsKey(Namespace, JobID, scaling.group)
  const previousEvents = store.tables.scaling_events.find(key)?.Events ?? []
  const Events = withScalingEvent(previousEvents, event)
  const row = { Namespace, JobID, Group: scaling.group, Events, CreateIndex: 0, ModifyIndex: 0 }
  return put('scaling_events', row)
}
