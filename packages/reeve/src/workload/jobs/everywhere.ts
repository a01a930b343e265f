import type { Input, Job, JobPlanResponse, JobRegisterRequest } from '@reeve/contract'
import { nsFromMs } from '../../kit/duration.ts'
import { Fault, messageOf } from '../../kit/fault.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import {
  canonicalizeJob,
  jobInRegion,
  multiregionProblem,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import type { OtherRegions, WorkloadContext } from '../context.ts'

/** The regions of a job that is registered in each of them. */
export interface RegionParts {
  readonly own: string
  /** The job as each region runs it, in the order of its list. */
  readonly jobs: ReadonlyMap<string, Input<Job>>
}

/** A job that lists regions, and this one of them; undefined for any other. */
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
  /** What the caller has shown; each region decides for itself what it is worth there. */
  readonly secret: string
  readonly namespace: string
  readonly body: JobRegisterRequest
  readonly nowMs: number
  /** Asks this region whether it would take the job. */
  readonly planHere: (job: Input<Job>) => Promise<Result<JobPlanResponse, Refusal>>
}

/**
 * Registers a job in each of its regions. Every region is asked first whether it would take it,
 * policies included: when one of them refuses or does not answer, nothing is registered anywhere.
 * What changes between the two steps may leave some of them with the job: then the error says
 * which, and registering it again is safe.
 */
export async function registerEverywhere<Written>(
  { own, jobs }: RegionParts,
  options: EverywhereOptions & {
    /** Registers the job in this region alone. */
    readonly registerHere: (job: Input<Job>) => Promise<Result<Written, Refusal>>
  },
): Promise<Result<Written, Refusal>> {
  const asked = await Promise.all(
    [...jobs].map(([region, job]) =>
      region === own ? planned(own, options.planHere(job)) : planThere(region, job, options),
    ),
  )
  const refused = asked.find((one) => one !== undefined)
  if (refused !== undefined) return err(refused)
  const done: string[] = []
  let written: Result<Written, Refusal> | undefined
  // In the order of the list: whoever has to wait for others finds them there.
  for (const [region, job] of jobs) {
    // One time for all: regions know by it that they roll out the same thing.
    const part = { ...job, SubmitTime: nsFromMs(options.nowMs) }
    const outcome =
      region === own
        ? (written = await options.registerHere(part))
        : await registerThere(region, part, options)
    if (!outcome.ok) return err(halfDone(outcome.error, done))
    done.push(region)
  }
  return written ?? err(refusal('region-unknown', 'No path to region'))
}

async function planned(
  region: string,
  answer: Promise<Result<JobPlanResponse, Refusal>>,
): Promise<Refusal | undefined> {
  const plan = await answer
  return plan.ok ? deniedIn(region, plan.value) : plan.error
}

/** What a plan says that would keep the job from being registered. */
function deniedIn(region: string, { PolicyVerdicts }: JobPlanResponse): Refusal | undefined {
  const denying = PolicyVerdicts?.filter(({ Effect }) => Effect === 'denies') ?? []
  if (denying.length === 0) return undefined
  const names = denying.map(({ PolicySet, Policy }) => `${PolicySet}/${Policy}`).join(', ')
  return refusal('policy-denied', `region "${region}": denied by ${names}`)
}

async function planThere(
  region: string,
  job: Input<Job>,
  { regions, secret, namespace, body }: EverywhereOptions,
): Promise<Refusal | undefined> {
  const answer = await regions.ask(region, {
    method: 'POST',
    url: `${jobUrl(job.ID ?? '')}/plan?${namespaceQuery(namespace)}`,
    token: secret,
    body: { Job: job, Diff: false, PolicyOverride: body.PolicyOverride ?? false },
  })
  if (answer.status !== 200) return refusedThere(region, answer)
  // It was answered by a server of ours, with the body of this route.
  return deniedIn(region, JSON.parse(answer.text) as JobPlanResponse)
}

async function registerThere(
  region: string,
  job: Input<Job>,
  { regions, secret, namespace, body }: EverywhereOptions,
): Promise<Result<undefined, Refusal>> {
  // Indexes are those of the region that was asked.
  const { EnforceIndex: _enforce, JobModifyIndex: _index, Region: _region, ...rest } = body
  const url = `/v1/jobs?${namespaceQuery(namespace)}`
  const call = { method: 'POST', url, token: secret, body: { ...rest, Job: job } }
  try {
    const answer = await regions.ask(region, call)
    return answer.status === 200 ? ok(undefined) : err(refusedThere(region, answer))
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    return err(refusal('region-unreached', thrown.message))
  }
}

export interface StopEverywhere {
  readonly regions: OtherRegions
  readonly secret: string
  readonly job: Job
  readonly own: string
  /** Of the request, without `global`. */
  readonly query: Readonly<Record<string, string>>
}

/** Stops a job in its other regions. The reasons of those that did not, each with its name. */
export async function stopElsewhere(options: StopEverywhere): Promise<readonly string[]> {
  const { job, own, regions, secret, query } = options
  const names = (job.Multiregion?.Regions ?? []).map(({ Name }) => Name)
  const url = `${jobUrl(job.ID)}?${new URLSearchParams(query).toString()}`
  const outcomes = await Promise.all(
    names.map(async (region) => {
      if (region === own) return []
      try {
        const answer = await regions.ask(region, { method: 'DELETE', url, token: secret })
        return answer.status === 200 ? [] : [refusedThere(region, answer).message]
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown
        return [messageOf(thrown)]
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

/** Refusals of another region, as this one passes them on. */
function refusedThere(
  region: string,
  { status, text }: { readonly status: number; readonly text: string },
): Refusal {
  const message = `region "${region}": ${text}`
  if (status >= 500) return refusal('region-unreached', message)
  if (status === 403) return refusal('permission-denied', message)
  return refusal(status === 409 ? 'index-conflict' : 'invalid-input', message)
}

function halfDone({ code, message }: Refusal, done: readonly string[]): Refusal {
  if (done.length === 0) return { code, message }
  const where = done.map((name) => `"${name}"`).join(', ')
  return {
    code,
    message: `${message}. The job is registered in ${where}; registering it again is safe`,
  }
}
