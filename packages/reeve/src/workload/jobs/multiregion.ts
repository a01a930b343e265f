import type {
  Input,
  Job,
  JobPlanRequest,
  JobPlanResponse,
  JobRegisterRequest,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  canonicalizeJob,
  jobInRegion,
  multiregionProblem,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import {
  REGION_UNREACHABLE,
  type RemoteRegions,
  type RegionResponse,
  type WorkloadContext,
} from '../context.ts'

/** The regions of a multi-region job. */
export interface RegionalJobs {
  readonly localRegion: string
  /** The job of each region, in the order of its list. */
  readonly jobs: ReadonlyMap<string, Input<Job>>
}

/** Splits a job that lists this region among others; undefined for any other job. */
export function splitByRegion(
  { region, regions }: Pick<WorkloadContext, 'region' | 'regions'>,
  job: Input<Job>,
): Result<RegionalJobs | undefined, Refusal> {
  if (job.Multiregion === undefined || job.Multiregion === null) return ok(undefined)
  const listed = job.Multiregion.Regions ?? []
  const defaults = { region, namespace: 'default', nodePool: 'default' }
  const problem = multiregionProblem(canonicalizeJob({ Multiregion: job.Multiregion }, defaults))
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  const jobs = new Map(listed.map((one) => [one.Name ?? '', jobInRegion(job, one)]))
  const isKnown = (name: string): boolean =>
    name === region || regions?.isRemoteRegion(name) === true
  const unknown = [...jobs.keys()].find((name) => !isKnown(name))
  if (unknown !== undefined || !jobs.has(region))
    return err(refusal('region-unknown', `No path to region "${unknown ?? region}"`))
  return ok({ localRegion: region, jobs })
}

interface MultiregionDeps {
  readonly regions: RemoteRegions
  /** The secret of the caller; each region authorizes it on its own. */
  readonly secret: string
  readonly namespace: string
  readonly body: JobRegisterRequest
  readonly nowMs: number
  /** Plans the job in this region. */
  readonly planLocally: (job: Input<Job>) => Promise<Result<JobPlanResponse, Refusal>>
}

/**
 * Registers a job in each of its regions. It is planned in every region first, policies included:
 * if one refuses or does not respond, it is registered nowhere. A change between the two steps may
 * leave the job registered in some regions: the error then names them, and registering it again is
 * safe.
 */
export async function registerInAllRegions<Written>(
  { localRegion, jobs }: RegionalJobs,
  options: MultiregionDeps & {
    /** Registers the job in this region only. */
    readonly registerHere: (job: Input<Job>) => Promise<Result<Written, Refusal>>
  },
): Promise<Result<Written, Refusal>> {
  const planRefusals = await Promise.all(
    [...jobs].map(([region, job]) =>
      region === localRegion
        ? planInThisRegion(localRegion, job, options)
        : planInRegion(region, job, options),
    ),
  )
  const refused = planRefusals.find((one) => one !== undefined)
  if (refused !== undefined) return err(refused)
  const registered: string[] = []
  let written: Result<Written, Refusal> | undefined
  const registerLocally = async (regionalJob: Input<Job>): Promise<RegistrationOutcome> => {
    written = await options.registerHere(regionalJob)
    return written.ok ? SUCCEEDED : { refusal: written.error, isOutcomeUnknown: false }
  }
  // In the order of the list: a deployment that waits for others finds them registered.
  for (const [region, job] of jobs) {
    // The same time in all regions, by which they recognize the same rollout.
    const regionalJob = { ...job, SubmitTime: nsFromMs(options.nowMs) }
    const attempt = await catchFault(
      region === localRegion
        ? registerLocally(regionalJob)
        : registerInRegion(region, regionalJob, options),
    )
    if (attempt.refusal !== undefined)
      return err(partialFailure(attempt, { region, registered, all: [...jobs.keys()] }))
    registered.push(region)
  }
  return written ?? err(refusal('region-unknown', 'No path to region'))
}

/** Returns the request that plans another region's part as it would be registered. */
export function regionalPlanRequest(
  job: Input<Job>,
  { PolicyOverride, PolicyOverrideComment }: JobRegisterRequest,
): JobPlanRequest {
  return { Job: job, Diff: false, PolicyOverride, PolicyOverrideComment }
}

async function planInThisRegion(
  region: string,
  job: Input<Job>,
  options: MultiregionDeps,
): Promise<Refusal | undefined> {
  const plan = await options.planLocally(job)
  if (plan.ok) return undefined
  const { code, message } = plan.error
  // Policies differ between regions; all other problems of a job are the same everywhere.
  return isPolicyDenial(code) ? refusal(code, `region "${region}": ${message}`) : plan.error
}

async function planInRegion(
  region: string,
  job: Input<Job>,
  { regions, secret, namespace, body }: MultiregionDeps,
): Promise<Refusal | undefined> {
  const call = {
    method: 'POST',
    url: `${jobUrl(job.ID ?? '')}/plan?${namespaceQuery(namespace)}`,
    token: secret,
    body: regionalPlanRequest(job, body),
    isRead: true,
  }
  try {
    const response = await regions.request(region, call)
    return response.status === 200 ? undefined : remoteRefusal(region, response)
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return refusal('region-unreached', `${thrown.message}; nothing is registered`)
  }
}

/** Outcome of registering the job in one region. */
interface RegistrationOutcome {
  /** Undefined if it was registered. */
  readonly refusal: Refusal | undefined
  /** True if it may have been registered in spite of the error. */
  readonly isOutcomeUnknown: boolean
}

const SUCCEEDED: RegistrationOutcome = { refusal: undefined, isOutcomeUnknown: false }

async function registerInRegion(
  region: string,
  job: Input<Job>,
  { regions, secret, namespace, body }: MultiregionDeps,
): Promise<RegistrationOutcome> {
  // Indexes belong to the region of the request.
  const { EnforceIndex: _enforce, JobModifyIndex: _index, Region: _region, ...rest } = body
  const url = `/v1/jobs?${namespaceQuery(namespace)}`
  const call = { method: 'POST', url, token: secret, body: { ...rest, Job: job } }
  const response = await regions.request(region, call)
  if (response.status === 200) return SUCCEEDED
  // A 5xx may come from a leader that changed during the write; the outcome is unknown.
  return { refusal: remoteRefusal(region, response), isOutcomeUnknown: response.status >= 500 }
}

/** Converts a fault to an outcome, because the error must name the state of all regions. */
async function catchFault(attempt: Promise<RegistrationOutcome>): Promise<RegistrationOutcome> {
  try {
    return await attempt
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    // After a storage fault the outcome is unknown, too.
    const isOutcomeUnknown = thrown.kind !== REGION_UNREACHABLE
    return { refusal: refusal('region-unreached', thrown.message), isOutcomeUnknown }
  }
}

interface RegistrationProgress {
  /** The region that failed. */
  readonly region: string
  readonly registered: readonly string[]
  readonly all: readonly string[]
}

/** Returns an error that lists which regions have the job, and how to proceed. */
function partialFailure(
  { refusal: cause, isOutcomeUnknown }: RegistrationOutcome,
  { region, registered, all }: RegistrationProgress,
): Refusal {
  assert(cause !== undefined, 'only what was not taken is told of')
  if (registered.length === 0 && !isOutcomeUnknown) return cause
  const others = all.filter(
    (one) => !registered.includes(one) && !(isOutcomeUnknown && one === region),
  )
  const sections = [
    { what: 'Registered in', names: registered },
    { what: 'Not known of', names: isOutcomeUnknown ? [region] : [] },
    { what: 'Not registered in', names: others },
  ]
  const sentences = sections.flatMap(({ what, names }) =>
    names.length === 0 ? [] : [`${what} ${names.map((name) => JSON.stringify(name)).join(', ')}.`],
  )
  const message = [cause.message, sentences.join(' '), REGISTER_AGAIN].join('\n')
  return { code: cause.code, message }
}

const REGISTER_AGAIN =
  'Register it again when that is put right: where it is registered already, nothing changes.'

interface StopInRegionsOptions {
  readonly regions: RemoteRegions
  readonly secret: string
  readonly job: Job
  readonly localRegion: string
  /** Query of the request, without `global`. */
  readonly query: Readonly<Record<string, string>>
}

/**
 * Stops a job in its other regions. Returns the reasons of those that failed, each with its region.
 */
export async function stopInOtherRegions(
  options: StopInRegionsOptions,
): Promise<readonly Refusal[]> {
  const { job, localRegion, regions, secret, query } = options
  const names = (job.Multiregion?.Regions ?? []).map(({ Name }) => Name)
  const url = `${jobUrl(job.ID)}?${new URLSearchParams(query).toString()}`
  const outcomes = await Promise.all(
    names.map(async (region): Promise<readonly Refusal[]> => {
      if (region === localRegion) return []
      try {
        const response = await regions.request(region, { method: 'DELETE', url, token: secret })
        return response.status === 200 ? [] : [remoteRefusal(region, response)]
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown
        return [refusal('region-unreached', thrown.message)]
      }
    }),
  )
  return outcomes.flat()
}

function jobUrl(id: string): string {
  return `/v1/job/${encodeURIComponent(id)}`
}

function namespaceQuery(namespace: string): string {
  return new URLSearchParams({ namespace }).toString()
}

function isPolicyDenial(code: string): code is 'policy-denied' | 'policy-denied-overridable' {
  return code === 'policy-denied' || code === 'policy-denied-overridable'
}

/** Returns another region's refusal as this region reports it. */
function remoteRefusal(region: string, { status, text, errorCode }: RegionResponse): Refusal {
  const message = `region "${region}": ${text}`
  if (status >= 500) return refusal('region-unreached', message)
  if (isPolicyDenial(errorCode)) return refusal(errorCode, message)
  if (status === 403) return refusal('permission-denied', message)
  return refusal(status === 409 ? 'index-conflict' : 'invalid-input', message)
}
