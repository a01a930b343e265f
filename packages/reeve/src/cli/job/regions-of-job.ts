import type { Deployment, Job } from '@reeve/contract'
import { ApiError, ConnectionError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import type { Paint } from '../output/style.ts'
import { table } from '../output/table.ts'
import { toneOf } from '../output/tone.ts'

/** A region that is silent must not hold the status of the job for long. */
const REGION_MS_MAX = 5_000

/** How far one region of a multi-region job is. */
export interface RegionOfJob {
  readonly Region: string
  /** Null where the region does not answer or does not have the job. */
  readonly Job: Pick<Job, 'Version' | 'SubmitTime' | 'Stop'> | null
  /** The deployment of its current version; null where there is none. */
  readonly Deployment: Deployment | null
  /** Why nothing is known of it; empty where it has answered. */
  readonly Error: string
}

/** Asks every region that the job lists; none for a job of one region. */
export async function regionsOfJob(
  invocation: Invocation,
  job: Job,
): Promise<readonly RegionOfJob[]> {
  const listed = job.Multiregion?.Regions ?? []
  if (listed.length < 2) return []
  return await Promise.all(listed.map(({ Name }) => regionOfJob(invocation, job, Name)))
}

async function regionOfJob(
  { client }: Invocation,
  { ID, Namespace }: Job,
  region: string,
): Promise<RegionOfJob> {
  const query = { namespace: Namespace, region }
  const request = { params: { job_id: ID }, query, timeoutMs: REGION_MS_MAX }
  const unknown = { Region: region, Job: null, Deployment: null }
  try {
    const { data } = await client.v1.readJob(request)
    const { data: latest } = await client.v1.readLatestDeployment(request)
    const { Version, SubmitTime, Stop } = data
    const Deployment = latest?.JobVersion === Version ? latest : null
    return { Region: region, Job: { Version, SubmitTime, Stop }, Deployment, Error: '' }
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return { ...unknown, Error: '' }
    if (thrown instanceof ApiError) return { ...unknown, Error: thrown.text.trim() }
    if (!(thrown instanceof ConnectionError)) throw thrown
    return { ...unknown, Error: `no answer within ${REGION_MS_MAX / 1_000} s` }
  }
}

/** The regions as a table, and those that a deployment waits for. */
export function regionsText(
  regions: readonly RegionOfJob[],
  deployment: Deployment | null,
  paint: Paint,
): string {
  if (regions.length === 0) return ''
  const rows = regions.map((region) => {
    const status = statusOf(region)
    const version = region.Job === null ? '' : String(region.Job.Version)
    const text = region.Error === '' ? (region.Deployment?.StatusDescription ?? '') : region.Error
    return [region.Region, version, paint(toneOf(status), status), text]
  })
  const names = waitedFor(regions, deployment).map((region) =>
    region.Error === '' ? region.Region : `${region.Region} (${NO_ANSWER})`,
  )
  const waits = names.length === 0 ? '' : `The deployment waits for: ${names.join(', ')}\n`
  const heading = table(['Region', 'Version', 'Deployment', 'Description'], rows)
  return `${paint('strong', 'Regions')}\n${heading}${waits}`
}

const NO_ANSWER = 'not answering'

function statusOf({ Job: job, Deployment: deployment, Error: error }: RegionOfJob): string {
  if (error !== '') return NO_ANSWER
  if (job === null) return 'not registered'
  return job.Stop ? 'stopped' : (deployment?.Status ?? 'none')
}

/**
 * A deployment that is pending waits for the regions that the job lists before its own, one that is
 * blocked for all others.
 */
function waitedFor(
  regions: readonly RegionOfJob[],
  deployment: Deployment | null,
): readonly RegionOfJob[] {
  const own = regions.findIndex((one) => one.Deployment?.ID === deployment?.ID)
  const candidates =
    deployment?.Status === 'pending' && own >= 0
      ? regions.slice(0, own)
      : deployment?.Status === 'blocked' || deployment?.Status === 'pending'
        ? regions.filter((_, at) => at !== own)
        : []
  return candidates.filter(isUnfinished)
}

function isUnfinished({ Deployment: deployment, Error: error }: RegionOfJob): boolean {
  return error !== '' || UNFINISHED.has(deployment?.Status ?? '')
}

const UNFINISHED: ReadonlySet<string> = new Set(['initializing', 'pending', 'running', 'paused'])
