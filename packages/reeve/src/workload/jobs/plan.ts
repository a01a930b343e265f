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
  isActivePeriodic,
  isParent,
  LIMITS,
  newEvaluation,
  nextLaunchMs,
  PERMISSION_DENIED,
  type Refusal,
  invalidInput,
} from '../../model/index.ts'
import {
  schedule,
  scheduleSteps,
  type Plan,
  type SchedulingContext,
} from '../../scheduler/index.ts'
import { namespacedKey } from '../../state/index.ts'
import { overloadMessage, TenantConcurrencyLimiter } from '../../threads/index.ts'
import { inSlices, type WorkloadContext, type WorkOrigin } from '../context.ts'
import {
  checkOverridePermission,
  dryRunPolicies,
  enforceAndWrite,
  type PolicyDryRun,
} from '../policy-enforcement/enforce.ts'
import { checkRegistrationEnabled } from '../operator.ts'
import { splitByRegion } from './multiregion.ts'
import { FreezableView, overlayView } from './dry-run-view.ts'
import {
  acceptSubmittedJob,
  isLocalRegion,
  registrationRows,
  namespaceOf,
  NO_PATH_TO_REGION,
  specKey,
  findUnchangedJob,
  type SubmittedJob,
} from './job-commit.ts'
import { checkSubmittedJob, checkUpdate, mayUseVolumes, registrationWarnings } from './checks.ts'

interface PlanRequest extends SubmittedJob {
  readonly body: JobPlanRequest | undefined
  readonly pathJobId: string
  /** True for one region's part of a multi-region job. */
  readonly isRegionalJob?: boolean
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
  if (!isLocalRegion(context, request)) return err(NO_PATH_TO_REGION)
  const regionalJob = localJob(context, request, submitted.value)
  if (!regionalJob.ok) return regionalJob
  const job = await acceptSubmittedJob(context, regionalJob.value, namespace, request.origin)
  if (!job.ok) return job
  const next = { ...job.value, ServiceTokenID: caller.accessorId }
  const planned =
    request.isRegionalJob === true
      ? await planRegionalJob(context, caller, { next, request })
      : await planLocalJob(context, caller, { next, request })
  // The plan reveals state, which may not be durable yet.
  await context.store.whenDurable()
  return planned
}

interface PlannedSubmission {
  readonly next: Job
  readonly request: PlanRequest
}

async function planLocalJob(
  context: WorkloadContext,
  caller: Caller,
  { next, request: { body, origin } }: PlannedSubmission,
): Promise<Result<JobPlanResponse, Refusal>> {
  const { jobs } = context.store.tables
  const key = namespacedKey(next.Namespace, next.ID)
  const existing = jobs.find(key)
  const conflict = checkUpdate(next, existing)
  if (conflict !== undefined) return err(conflict)
  const policies = await dryRunPolicies(context, caller, {
    job: next,
    existing,
    override: body ?? {},
  })
  const withDiff = body?.Diff === true
  return ok(await computePlan(context, { next, withDiff, policies, origin }))
}

/**
 * Plans one region's part before it is registered (decision 0041): checks that could refuse the
 * registration, or record a refusal, run now, while nothing is registered anywhere.
 */
async function planRegionalJob(
  context: WorkloadContext,
  caller: Caller,
  { next, request: { body = {}, origin } }: PlannedSubmission,
): Promise<Result<JobPlanResponse, Refusal>> {
  const { store } = context
  const disabled = checkRegistrationEnabled(store, caller)
  if (disabled !== undefined) return err(disabled)
  return await enforceAndWrite(
    context,
    { operation: 'register', caller, override: body },
    {
      prepare: () => {
        const existing = store.tables.jobs.find(namespacedKey(next.Namespace, next.ID))
        const conflict = checkUpdate(next, existing)
        if (conflict !== undefined) return err(conflict)
        return ok({ job: next, existing, jobId: next.ID, key: specKey(existing) })
      },
      write: () =>
        computePlan(context, { next, withDiff: false, policies: NO_POLICY_RESULTS, origin }),
    },
  )
}

const NO_POLICY_RESULTS: PolicyDryRun = { outcomes: null, warnings: [] }

/** Returns the part of this region, for a multi-region job. */
function localJob(
  context: WorkloadContext,
  { isRegionalJob }: PlanRequest,
  job: Input<Job>,
): Result<Input<Job>, Refusal> {
  if (isRegionalJob === true) return ok(job)
  const regionalJobs = splitByRegion(context, job)
  return regionalJobs.ok ? ok(regionalJobs.value?.jobs.get(context.region) ?? job) : regionalJobs
}

function mayPlan(
  caller: Caller,
  namespace: string,
  { body = {}, isRegionalJob }: Pick<PlanRequest, 'body' | 'isRegionalJob'>,
): boolean {
  const { grants } = caller
  const capability = isRegionalJob === true ? 'register-job' : 'plan-job'
  const hasCapability =
    grants.allows(namespace, 'submit-job') || grants.allows(namespace, capability)
  if (!hasCapability || checkOverridePermission(caller, namespace, body) !== undefined) return false
  return mayUseVolumes(grants, namespace, body.Job)
}

/** Validates the request, with the messages of plan. */
function checkRequest({ body, pathJobId }: PlanRequest): Result<Input<Job>, Refusal> {
  if (body === undefined) return invalidInput('Request body is empty')
  const job = body.Job
  if (job === undefined || job === null) return invalidInput('Job must be specified')
  if (job.ID === undefined || job.ID === null || job.ID === '')
    return invalidInput('Job must have a valid ID')
  if (job.ID !== pathJobId) return invalidInput('Job ID does not match')
  const problem = checkSubmittedJob(job)
  return problem === undefined ? ok(job) : invalidInput(problem)
}

interface PlanInput {
  readonly next: Job
  readonly withDiff: boolean
  readonly policies: PolicyDryRun
  readonly origin: WorkOrigin
}

/**
 * Computes the response. A plan of many instances takes seconds and much memory, so a tenant makes
 * one of them at a time (decision 0065). Smaller plans start at once.
 */
async function computePlan(context: WorkloadContext, planned: PlanInput): Promise<JobPlanResponse> {
  const { planGate, store } = context
  const { next, origin } = planned
  const existing = store.tables.allocations.countByIndex(
    'job',
    namespacedKey(next.Namespace, next.ID),
  )
  const instances = next.TaskGroups.reduce((sum, { Count }) => sum + Count, existing)
  if (instances <= LIMITS.smallPlanInstancesMax) return await runPlan(context, planned)
  const admitted = await planGate.run(origin, () => runPlan(context, planned))
  if (admitted.ok) return admitted.value
  throw new Fault(OVERLOADED, overloadMessage(admitted.error, 'large job plans', planGate.limits))
}

async function runPlan(
  context: WorkloadContext,
  { next, withDiff, policies, origin }: PlanInput,
): Promise<JobPlanResponse> {
  // Read the state now: evaluating policies and waiting for other plans takes time.
  const current = context.store.tables.jobs.find(namespacedKey(next.Namespace, next.ID))
  const { view, evaluation, scheduling } = prepareDryRun(context, next, current)
  const steps = scheduleSteps(view.view, evaluation, scheduling)
  const plan = await inSlices(steps, origin, () => view.freeze())
  const { annotations, blockedEvaluation } = plan
  const created = [
    ...plan.followUpEvaluations,
    ...(blockedEvaluation === undefined ? [] : [blockedEvaluation]),
  ]
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
    Warnings: formatWarnings([...registrationWarnings(context, next), ...policies.warnings]),
    PolicyVerdicts: policies.outcomes,
  }
}

/** Creates the gate for plans of many instances: one per tenant at a time. */
export function createPlanGate(clock: Pick<Clock, 'monotonicMs'>): TenantConcurrencyLimiter {
  return new TenantConcurrencyLimiter(clock, {
    runningMax: LIMITS.largePlansRunningMax,
    waitingPerTenantMax: LIMITS.largePlansWaitingPerTenantMax,
    waitingMax: LIMITS.largePlansWaitingMax,
    waitMsMax: LIMITS.largePlanWaitTimeoutMs,
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
  const ids = dryRunIds()
  const evalId = ids.uuid()
  const changes = registrationRows(
    { ...context, ids },
    { job, current, priority: 0, unchanged: findUnchangedJob(job, current) },
    // A parameterized job is not evaluated, with the same result: the scheduler runs only its
    // children.
    { stamp, evalId: isParent(job) ? '' : evalId, sourceBlob: undefined },
  )
  const overlaid = overlayView(view, stamp.index, changes)
  const registered = overlaid.findJob(job.Namespace, job.ID) ?? job
  const evaluation: Evaluation = {
    ...newEvaluation(registered, {
      id: evalId,
      trigger: 'job-register',
      timeMs: stamp.timeMs,
      jobModifyIndex: registered.JobModifyIndex,
    }),
    AnnotatePlan: true,
  }
  const freezableView = new FreezableView(overlaid, registered)
  return { view: freezableView, evaluation, scheduling: dryRunContext(stamp.timeMs, ids) }
}

/**
 * Returns a context with its own IDs and random source: a plan does not affect the servers'
 * sources, and repeating it on the same state gives the same result.
 */
export function dryRunContext(nowMs: number, ids = dryRunIds()): SchedulingContext {
  return { nowMs, ids, random: { next: () => 0 } }
}

/** IDs of rows that are never stored. */
function dryRunIds(): IdSource {
  let count = 0
  return {
    uuid: () => `00000000-0000-4000-8000-${(++count).toString(16).padStart(12, '0')}`,
  }
}

function nextLaunch({ clock, utcOffsetAt }: WorkloadContext, job: Job): string {
  if (job.Periodic === null || !isActivePeriodic(job)) return ZERO_TIME
  const nextMs = nextLaunchMs(job.Periodic, clock.nowMs(), utcOffsetAt)
  return nextMs === undefined ? ZERO_TIME : isoFromMs(nextMs)
}
