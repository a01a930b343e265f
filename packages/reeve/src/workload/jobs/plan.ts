import type { Evaluation, Input, Job, JobPlanRequest, JobPlanResponse } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { isoFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { formatWarnings } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  annotateDiff,
  diffJobsSteps,
  isLaunchedByTime,
  isParent,
  LIMITS,
  newEvaluation,
  nextLaunchMs,
  PERMISSION_DENIED,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import {
  schedule,
  scheduleSteps,
  type Plan,
  type SchedulingContext,
} from '../../scheduler/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { overloadMessage, TenantGate } from '../../threads/index.ts'
import type { WorkloadContext } from '../context.ts'
import { planPolicies, type PlannedVerdicts } from '../guarding/plan-policies.ts'
import { checkOverride, submitGuarded } from '../guarding/submit-guarded.ts'
import { checkRegistrationEnabled } from '../scheduler-configuration.ts'
import { inSlices, type WorkOrigin } from '../work-origin.ts'
import { partsOf } from './everywhere.ts'
import { FreezableView } from './frozen-view.ts'
import { overlayView } from './overlay-view.ts'
import {
  acceptSubmitted,
  checkUpdate,
  isOwnRegion,
  jobRows,
  namespaceOf,
  NO_PATH_TO_REGION,
  specificationKey,
  submittedProblem,
  unchangedJob,
  type JobSubmitted,
} from './register.ts'
import { mayUseVolumes } from './volume-rights.ts'
import { warningsNow } from './warnings.ts'

export interface PlanRequest extends JobSubmitted {
  readonly body: JobPlanRequest | undefined
  readonly pathJobId: string
  /** True for one region's part of a multi-region job. */
  readonly isPart?: boolean
}

/**
 * Plans a job: returns the changes that registering it would make, computed by the scheduler on the
 * resulting state. Nothing is stored and no event is created. The job is validated like a
 * registration: a successful plan can be registered.
 */
export async function planJob(
  context: WorkloadContext,
  caller: Caller,
  request: PlanRequest,
): Promise<Result<JobPlanResponse, Refusal>> {
  const namespace = namespaceOf(request)
  if (!mayPlan(caller, namespace, request)) return err(PERMISSION_DENIED)
  const submitted = checkRequest(request)
  if (!submitted.ok) return submitted
  if (!isOwnRegion(context, request)) return err(NO_PATH_TO_REGION)
  const part = partHere(context, request, submitted.value)
  if (!part.ok) return part
  const job = await acceptSubmitted(context, part.value, namespace, request.origin)
  if (!job.ok) return job
  const next = { ...job.value, ServiceTokenID: caller.accessorId }
  const planned =
    request.isPart === true
      ? await planPart(context, caller, { next, request })
      : await planWhole(context, caller, { next, request })
  // The plan reveals state, which may not be durable yet.
  await context.store.settled()
  return planned
}

interface Submitted {
  readonly next: Job
  readonly request: PlanRequest
}

async function planWhole(
  context: WorkloadContext,
  caller: Caller,
  { next, request: { body, origin } }: Submitted,
): Promise<Result<JobPlanResponse, Refusal>> {
  const { jobs } = context.store.tables
  const key = namespacedKey(next.Namespace, next.ID)
  const existing = jobs.find(key)
  const conflict = checkUpdate(next, existing)
  if (conflict !== undefined) return err(conflict)
  const policies = await planPolicies(context, caller, {
    job: next,
    existing,
    override: body ?? {},
  })
  const withDiff = body?.Diff === true
  return ok(await responseOf(context, { next, withDiff, policies, origin }))
}

/**
 * Plans one region's part before it is registered (decision 0041): checks that could refuse the
 * registration, or record a refusal, run now, while nothing is registered anywhere.
 */
async function planPart(
  context: WorkloadContext,
  caller: Caller,
  { next, request: { body = {}, origin } }: Submitted,
): Promise<Result<JobPlanResponse, Refusal>> {
  const { store } = context
  const disabled = checkRegistrationEnabled(store, caller)
  if (disabled !== undefined) return err(disabled)
  return await submitGuarded(
    context,
    { operation: 'register', caller, override: body },
    {
      prepare: () => {
        const existing = store.tables.jobs.find(namespacedKey(next.Namespace, next.ID))
        const conflict = checkUpdate(next, existing)
        if (conflict !== undefined) return err(conflict)
        return ok({ job: next, existing, jobId: next.ID, key: specificationKey(existing) })
      },
      write: () => responseOf(context, { next, withDiff: false, policies: UNASKED, origin }),
    },
  )
}

const UNASKED: PlannedVerdicts = { outcomes: null, warnings: [] }

/** Returns the part of this region, for a multi-region job. */
function partHere(
  context: WorkloadContext,
  { isPart }: PlanRequest,
  job: Input<Job>,
): Result<Input<Job>, Refusal> {
  if (isPart === true) return ok(job)
  const parts = partsOf(context, job)
  return parts.ok ? ok(parts.value?.jobs.get(context.region) ?? job) : parts
}

function mayPlan(
  caller: Caller,
  namespace: string,
  { body = {}, isPart }: Pick<PlanRequest, 'body' | 'isPart'>,
): boolean {
  const { grants } = caller
  const right = isPart === true ? 'register-job' : 'plan-job'
  const plans = grants.allows(namespace, 'submit-job') || grants.allows(namespace, right)
  if (!plans || checkOverride(caller, namespace, body) !== undefined) return false
  return mayUseVolumes(grants, namespace, body.Job)
}

/** Validates the request, with the messages of plan. */
function checkRequest({ body, pathJobId }: PlanRequest): Result<Input<Job>, Refusal> {
  if (body === undefined) return invalid('Request body is empty')
  const job = body.Job
  if (job === undefined || job === null) return invalid('Job must be specified')
  if (job.ID === undefined || job.ID === null || job.ID === '')
    return invalid('Job must have a valid ID')
  if (job.ID !== pathJobId) return invalid('Job ID does not match')
  const problem = submittedProblem(job)
  return problem === undefined ? ok(job) : invalid(problem)
}

interface Planned {
  readonly next: Job
  readonly withDiff: boolean
  readonly policies: PlannedVerdicts
  readonly origin: WorkOrigin
}

/**
 * Computes the response. A plan of many instances takes seconds and much memory, so a tenant makes
 * one of them at a time (decision 0065). Smaller plans start at once.
 */
async function responseOf(context: WorkloadContext, planned: Planned): Promise<JobPlanResponse> {
  const { planGate, store } = context
  const { next, origin } = planned
  const existing = store.tables.allocations.countIn('job', namespacedKey(next.Namespace, next.ID))
  const instances = next.TaskGroups.reduce((sum, { Count }) => sum + Count, existing)
  if (instances <= LIMITS.smallPlanInstancesMax) return await planNow(context, planned)
  const admitted = await planGate.run(origin, () => planNow(context, planned))
  if (admitted.ok) return admitted.value
  throw new Fault(OVERLOADED, overloadMessage(admitted.error, 'large job plans', planGate.limits))
}

async function planNow(
  context: WorkloadContext,
  { next, withDiff, policies, origin }: Planned,
): Promise<JobPlanResponse> {
  // Read the state now: evaluating policies and waiting for other plans takes time.
  const current = context.store.tables.jobs.find(namespacedKey(next.Namespace, next.ID))
  const { view, evaluation, scheduling } = prepareDryRun(context, next, current)
  const steps = scheduleSteps(view.view, evaluation, scheduling)
  const plan = await inSlices(steps, origin, () => view.freeze())
  const { annotations, blocked } = plan
  const created = [...plan.followUps, ...(blocked === undefined ? [] : [blocked])]
  const diff = withDiff
    ? annotateDiff(await inSlices(diffJobsSteps(current, next, { contextual: true }), origin), {
        desiredUpdates: annotations.DesiredTGUpdates,
      })
    : null
  const index = current?.JobModifyIndex ?? 0
  return {
    Index: index,
    JobModifyIndex: index,
    Annotations: annotations,
    FailedTGAllocs: plan.evaluation.FailedTGAllocs,
    CreatedEvals: created.length === 0 ? null : created,
    Diff: diff,
    NextPeriodicLaunch: nextLaunch(context, next),
    Warnings: formatWarnings([...warningsNow(context, next), ...policies.warnings]),
    PolicyVerdicts: policies.outcomes,
  }
}

/** Creates the gate for plans of many instances: one per tenant at a time. */
export function createPlanGate(clock: Pick<Clock, 'monotonicMs'>): TenantGate {
  return new TenantGate(clock, {
    runningMax: LIMITS.largePlansRunningMax,
    waitingPerTenantMax: LIMITS.largePlansWaitingPerTenantMax,
    waitingMax: LIMITS.largePlansWaitingMax,
    waitMsMax: LIMITS.largePlanWaitMsMax,
  })
}

/**
 * Returns the plan that the evaluation of the registration would make if it were processed at once.
 */
export function dryRun(context: WorkloadContext, job: Job, current: Job | undefined): Plan {
  const { view, evaluation, scheduling } = prepareDryRun(context, job, current)
  return schedule(view.view, evaluation, scheduling)
}

interface DryRun {
  readonly view: FreezableView
  readonly evaluation: Evaluation
  readonly scheduling: SchedulingContext
}

function prepareDryRun(context: WorkloadContext, job: Job, current: Job | undefined): DryRun {
  const { store, view, clock } = context
  const stamp = { index: store.index + 1, timeMs: clock.nowMs() }
  const ids = plannedIds()
  const evalId = ids.uuid()
  const changes = jobRows(
    { ...context, ids },
    { job, current, priority: 0, kept: unchangedJob(job, current) },
    // A parameterized job is not evaluated, with the same result: the scheduler runs only its
    // children.
    { stamp, evalId: isParent(job) ? '' : evalId, sourceBlob: undefined },
  )
  const there = overlayView(view, stamp.index, changes)
  const registered = there.findJob(job.Namespace, job.ID) ?? job
  const evaluation: Evaluation = {
    ...newEvaluation(registered, {
      id: evalId,
      trigger: 'job-register',
      timeMs: stamp.timeMs,
      jobModifyIndex: registered.JobModifyIndex,
    }),
    AnnotatePlan: true,
  }
  const frozen = new FreezableView(there, registered)
  return { view: frozen, evaluation, scheduling: planningContext(stamp.timeMs, ids) }
}

/**
 * Returns a context with its own IDs and random source: a plan does not affect the servers'
 * sources, and repeating it on the same state gives the same result.
 */
export function planningContext(nowMs: number, ids = plannedIds()): SchedulingContext {
  return { nowMs, ids, random: { next: () => 0 } }
}

/** IDs of rows that are never stored. */
function plannedIds(): IdSource {
  let count = 0
  return {
    uuid: () => `00000000-0000-4000-8000-${(++count).toString(16).padStart(12, '0')}`,
  }
}

function nextLaunch({ clock, offsetAt }: WorkloadContext, job: Job): string {
  if (job.Periodic === null || !isLaunchedByTime(job)) return ZERO_TIME
  const nextMs = nextLaunchMs(job.Periodic, clock.nowMs(), offsetAt)
  return nextMs === undefined ? ZERO_TIME : isoFromMs(nextMs)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
