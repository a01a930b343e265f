import type { Input, Job } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { err, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, type Refusal } from '../../model/index.ts'
import { namespacedKey, SYSTEM } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { NO_VERDICT_CHANGES } from '../policy-enforcement/verdicts.ts'
import {
  regionalPlanRequest,
  splitByRegion,
  registerInAllRegions,
  type RegionalJobs,
} from './multiregion.ts'
import { checkEnforcedIndex } from './checks.ts'
import { planJob } from './plan.ts'
import {
  mayRegister,
  namespaceOf,
  registerLocally,
  type JobWriteResult,
  type RegisterRequest,
  canonicalizeAndValidate,
  commitJob,
} from './job-commit.ts'

/** Registers a job; a multi-region job in all of its regions. */
export async function registerJob(
  context: WorkloadContext,
  caller: RequestCaller,
  request: RegisterRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  const job = request.body?.Job
  if (job === undefined || job === null || request.isRegionalJob === true)
    return await registerLocally(context, caller, request)
  const regionalJobs = splitByRegion(context, job)
  if (!regionalJobs.ok) return regionalJobs
  if (regionalJobs.value === undefined) return await registerLocally(context, caller, request)
  return await registerInRegions(context, caller, { request, regionalJobs: regionalJobs.value })
}

interface RegionalRegistration {
  readonly request: RegisterRequest
  readonly regionalJobs: RegionalJobs
}

async function registerInRegions(
  context: WorkloadContext,
  caller: RequestCaller,
  { request, regionalJobs }: RegionalRegistration,
): Promise<Result<JobWriteResult, Refusal>> {
  const { body = {}, secret = '' } = request
  const { regions, clock, store } = context
  const namespace = namespaceOf(request)
  // Check permission first: an index conflict reveals that the job exists.
  if (!mayRegister(caller, namespace, body)) return err(PERMISSION_DENIED)
  const regionalRequest = (job: Input<Job>): RegisterRequest => ({
    ...request,
    body: { ...body, Job: job },
    isRegionalJob: true,
  })
  const onlyJob = [...regionalJobs.jobs.values()][0]
  // The list contains only this region.
  if (regions === undefined || regionalJobs.jobs.size === 1)
    return await registerLocally(context, caller, regionalRequest(onlyJob ?? {}))
  const conflict = checkEnforcedIndex(
    body,
    store.tables.jobs.find(namespacedKey(namespace, body.Job?.ID ?? '')),
  )
  if (conflict !== undefined) return err(conflict)
  return await registerInAllRegions(regionalJobs, {
    regions,
    secret,
    namespace,
    body,
    nowMs: clock.nowMs(),
    planLocally: (job) =>
      planJob(context, caller, {
        ...request,
        pathJobId: job.ID ?? '',
        isRegionalJob: true,
        body: regionalPlanRequest(job, body),
      }),
    registerHere: (job) => registerLocally(context, caller, regionalRequest(job)),
  })
}

/**
 * Registers a job that the server itself needs, without checking permissions or policies. An
 * existing job with this ID is kept.
 */
export async function registerSystemJob(
  context: WorkloadContext,
  submitted: Input<Job> & { readonly ID: string; readonly Namespace: string },
): Promise<void> {
  const { ID, Namespace } = submitted
  if (context.store.tables.jobs.has(namespacedKey(Namespace, ID))) return
  const job = canonicalizeAndValidate(context, submitted, Namespace)
  if (!job.ok) throw new Fault('job-refused', job.error.message)
  await commitJob(context, SYSTEM, {
    job: job.value,
    current: undefined,
    priority: 0,
    source: undefined,
    record: NO_VERDICT_CHANGES,
  })
}
