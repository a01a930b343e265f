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
  REGION_UNREACHED,
  type OtherRegions,
  type RegionResponse,
  type WorkloadContext,
} from '../context.ts'

/** The regions of a multi-region job. */
export interface RegionParts {
  readonly own: string
  /** The job of each region, in the order of its list. */
  readonly jobs: ReadonlyMap<string, Input<Job>>
}

/** Splits a job that lists this region among others; undefined for any other job. */
export function partsOf(
  { region, regions }: Pick<WorkloadContext, 'region' | 'regions'>,
  job: Input<Job>,
): Result<RegionParts | undefined, Refusal> {
  if (job.Multiregion === undefined || job.Multiregion === null) return ok(undefined)
  const listed = job.Multiregion.Regions ?? []
  const defaults = { region, namespace: 'default', nodePool: 'default' }
  const problem = multiregionProblem(canonicalizeJob({ Multiregion: job.Multiregion }, defaults))
  if (problem !== undefined) return err(refusal('invalid-input', problem))
  const jobs = new Map(listed.map((one) => [one.Name ?? '', jobInRegion(job, one)]))
  const isKnown = (name: string): boolean => name === region || regions?.isOther(name) === true
  const unknown = [...jobs.keys()].find((name) => !isKnown(name))
  if (unknown !== undefined || !jobs.has(region))
    return err(refusal('region-unknown', `No path to region "${unknown ?? region}"`))
  return ok({ own: region, jobs })
}

export interface EverywhereOptions {
  readonly regions: OtherRegions
  /** The secret of the caller; each region authorizes it on its own. */
  readonly secret: string
  readonly namespace: string
  readonly body: JobRegisterRequest
  readonly nowMs: number
  /** Plans the job in this region. */
  readonly planHere: (job: Input<Job>) => Promise<Result<JobPlanResponse, Refusal>>
}

/**
 * Registers a job in each of its regions. It is planned in every region first, policies included:
 * if one refuses or does not respond, it is registered nowhere. A change between the two steps may
 * leave the job registered in some regions: the error then names them, and registering it again is
 * safe.
 */
export async function registerEverywhere<Written>(
  { own, jobs }: RegionParts,
  options: EverywhereOptions & {
    /** Registers the job in this region only. */
    readonly registerHere: (job: Input<Job>) => Promise<Result<Written, Refusal>>
  },
): Promise<Result<Written, Refusal>> {
  const asked = await Promise.all(
    [...jobs].map(([region, job]) =>
      region === own ? planHere(own, job, options) : planThere(region, job, options),
    ),
  )
  const refused = asked.find((one) => one !== undefined)
  if (refused !== undefined) return err(refused)
  const taken: string[] = []
  let written: Result<Written, Refusal> | undefined
  const here = async (part: Input<Job>): Promise<Attempt> => {
    written = await options.registerHere(part)
    return written.ok ? TAKEN : { refusal: written.error, isInDoubt: false }
  }
  // In the order of the list: a deployment that waits for others finds them registered.
  for (const [region, job] of jobs) {
    // The same time in all regions, by which they recognize the same rollout.
    const part = { ...job, SubmitTime: nsFromMs(options.nowMs) }
    const attempt = await attempted(
      region === own ? here(part) : registerThere(region, part, options),
    )
    if (attempt.refusal !== undefined)
      return err(halfTaken(attempt, { region, taken, all: [...jobs.keys()] }))
    taken.push(region)
  }
  return written ?? err(refusal('region-unknown', 'No path to region'))
}

/** Returns the request that plans another region's part as it would be registered. */
export function partQuestion(
  job: Input<Job>,
  { PolicyOverride, PolicyOverrideComment }: JobRegisterRequest,
): JobPlanRequest {
  return { Job: job, Diff: false, PolicyOverride, PolicyOverrideComment }
}

async function planHere(
  region: string,
  job: Input<Job>,
  options: EverywhereOptions,
): Promise<Refusal | undefined> {
  const plan = await options.planHere(job)
  if (plan.ok) return undefined
  const { code, message } = plan.error
  // Policies differ between regions; all other problems of a job are the same everywhere.
  return isPolicyDenial(code) ? refusal(code, `region "${region}": ${message}`) : plan.error
}

async function planThere(
  region: string,
  job: Input<Job>,
  { regions, secret, namespace, body }: EverywhereOptions,
): Promise<Refusal | undefined> {
  const call = {
    method: 'POST',
    url: `${jobUrl(job.ID ?? '')}/plan?${namespaceQuery(namespace)}`,
    token: secret,
    body: partQuestion(job, body),
    isRead: true,
  }
  try {
    const answer = await regions.ask(region, call)
    return answer.status === 200 ? undefined : refusedThere(region, answer)
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return refusal('region-unreached', `${thrown.message}; nothing is registered`)
  }
}

/** Outcome of registering the job in one region. */
interface Attempt {
  /** Undefined if it was registered. */
  readonly refusal: Refusal | undefined
  /** True if it may have been registered in spite of the error. */
  readonly isInDoubt: boolean
}

const TAKEN: Attempt = { refusal: undefined, isInDoubt: false }

async function registerThere(
  region: string,
  job: Input<Job>,
  { regions, secret, namespace, body }: EverywhereOptions,
): Promise<Attempt> {
  // Indexes belong to the region of the request.
  const { EnforceIndex: _enforce, JobModifyIndex: _index, Region: _region, ...rest } = body
  const url = `/v1/jobs?${namespaceQuery(namespace)}`
  const call = { method: 'POST', url, token: secret, body: { ...rest, Job: job } }
  const answer = await regions.ask(region, call)
  if (answer.status === 200) return TAKEN
  // A 5xx may come from a leader that changed during the write; the outcome is unknown.
  return { refusal: refusedThere(region, answer), isInDoubt: answer.status >= 500 }
}

/** Converts a fault to an outcome, because the error must name the state of all regions. */
async function attempted(attempt: Promise<Attempt>): Promise<Attempt> {
  try {
    return await attempt
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    // After a storage fault the outcome is unknown, too.
    const isInDoubt = thrown.kind !== REGION_UNREACHED
    return { refusal: refusal('region-unreached', thrown.message), isInDoubt }
  }
}

interface Progress {
  /** The region that failed. */
  readonly region: string
  readonly taken: readonly string[]
  readonly all: readonly string[]
}

/** Returns an error that lists which regions have the job, and how to proceed. */
function halfTaken(
  { refusal: why, isInDoubt }: Attempt,
  { region, taken, all }: Progress,
): Refusal {
  assert(why !== undefined, 'only what was not taken is told of')
  if (taken.length === 0 && !isInDoubt) return why
  const others = all.filter((one) => !taken.includes(one) && !(isInDoubt && one === region))
  const standings = [
    { what: 'Registered in', names: taken },
    { what: 'Not known of', names: isInDoubt ? [region] : [] },
    { what: 'Not registered in', names: others },
  ]
  const told = standings.flatMap(({ what, names }) =>
    names.length === 0 ? [] : [`${what} ${names.map((name) => JSON.stringify(name)).join(', ')}.`],
  )
  const message = [why.message, told.join(' '), REGISTER_AGAIN].join('\n')
  return { code: why.code, message }
}

const REGISTER_AGAIN =
  'Register it again when that is put right: where it is registered already, nothing changes.'

export interface StopEverywhere {
  readonly regions: OtherRegions
  readonly secret: string
  readonly job: Job
  readonly own: string
  /** Query of the request, without `global`. */
  readonly query: Readonly<Record<string, string>>
}

/**
 * Stops a job in its other regions. Returns the reasons of those that failed, each with its region.
 */
export async function stopElsewhere(options: StopEverywhere): Promise<readonly Refusal[]> {
  const { job, own, regions, secret, query } = options
  const names = (job.Multiregion?.Regions ?? []).map(({ Name }) => Name)
  const url = `${jobUrl(job.ID)}?${new URLSearchParams(query).toString()}`
  const outcomes = await Promise.all(
    names.map(async (region): Promise<readonly Refusal[]> => {
      if (region === own) return []
      try {
        const answer = await regions.ask(region, { method: 'DELETE', url, token: secret })
        return answer.status === 200 ? [] : [refusedThere(region, answer)]
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
function refusedThere(region: string, { status, text, errorCode }: RegionResponse): Refusal {
  const message = `region "${region}": ${text}`
  if (status >= 500) return refusal('region-unreached', message)
  if (isPolicyDenial(errorCode)) return refusal(errorCode, message)
  if (status === 403) return refusal('permission-denied', message)
  return refusal(status === 409 ? 'index-conflict' : 'invalid-input', message)
}
