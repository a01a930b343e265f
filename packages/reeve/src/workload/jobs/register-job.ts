import type { Input, Job } from '@reeve/contract'
import { err, type Result } from '@reeve/kit/result.ts'
import { PERMISSION_DENIED, type Refusal } from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { partQuestion, partsOf, registerEverywhere, type RegionParts } from './everywhere.ts'
import { planJob } from './plan.ts'
import {
  checkIndex,
  mayRegister,
  namespaceOf,
  registerHere,
  type JobWritten,
  type RegisterRequest,
} from './register.ts'

/** Of a job that lists regions, in each of them. */
export async function registerJob(
  context: WorkloadContext,
  caller: RequestCaller,
  request: RegisterRequest,
): Promise<Result<JobWritten, Refusal>> {
  const job = request.body?.Job
  if (job === undefined || job === null || request.isPart === true)
    return await registerHere(context, caller, request)
  const parts = partsOf(context, job)
  if (!parts.ok) return parts
  if (parts.value === undefined) return await registerHere(context, caller, request)
  return await registerParts(context, caller, { request, parts: parts.value })
}

interface Parts {
  readonly request: RegisterRequest
  readonly parts: RegionParts
}

async function registerParts(
  context: WorkloadContext,
  caller: RequestCaller,
  { request, parts }: Parts,
): Promise<Result<JobWritten, Refusal>> {
  const { body = {}, secret = '' } = request
  const { regions, clock, store } = context
  const namespace = namespaceOf(request)
  // Check permission first: an index conflict reveals that the job exists.
  if (!mayRegister(caller, namespace, body)) return err(PERMISSION_DENIED)
  const part = (job: Input<Job>): RegisterRequest => ({
    ...request,
    body: { ...body, Job: job },
    isPart: true,
  })
  const only = [...parts.jobs.values()][0]
  // The list names this region alone.
  if (regions === undefined || parts.jobs.size === 1)
    return await registerHere(context, caller, part(only ?? {}))
  const conflict = checkIndex(
    body,
    store.tables.jobs.find(namespacedKey(namespace, body.Job?.ID ?? '')),
  )
  if (conflict !== undefined) return err(conflict)
  return await registerEverywhere(parts, {
    regions,
    secret,
    namespace,
    body,
    nowMs: clock.nowMs(),
    planHere: (job) =>
      planJob(context, caller, {
        ...request,
        pathJobId: job.ID ?? '',
        isPart: true,
        body: partQuestion(job, body),
      }),
    registerHere: (job) => registerHere(context, caller, part(job)),
  })
}
