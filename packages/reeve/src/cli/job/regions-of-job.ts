import type { Deployment, Job } from '@reeve/contract'
import { ApiError, ConnectionError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import type { Paint } from '../output/style.ts'
import { renderTable } from '../output/table.ts'
import { statusStyle } from '../output/tone.ts'

/** Timeout of a request to another region. */
const REGION_TIMEOUT_MS = 5_000

/** Status of a multi-region job in one region. */
export interface JobRegionStatus {
  readonly Region: string
  /** Null if the region is unreachable or does not have the job. */
  readonly Job: Pick<Job, 'Version' | 'SubmitTime' | 'Stop'> | null
  /** The deployment of the current version; null if there is none. */
  readonly Deployment: Deployment | null
  /** Why the status is unknown; empty on success. */
  readonly Error: string
}

/** Reads the status in all regions of a multi-region job; empty for other jobs. */
export async function readJobRegions(
  invocation: CommandContext,
  job: Job,
): Promise<readonly JobRegionStatus[]> {
  const listed = job.Multiregion?.Regions ?? []
  if (listed.length < 2) return []
  return await Promise.all(listed.map(({ Name }) => readJobRegion(invocation, job, Name)))
}

async function readJobRegion(
  { client }: CommandContext,
  { ID, Namespace }: Job,
  region: string,
): Promise<JobRegionStatus> {
  const query = { namespace: Namespace, region }
  const request = { params: { job_id: ID }, query, timeoutMs: REGION_TIMEOUT_MS }
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
    return { ...unknown, Error: `no answer within ${REGION_TIMEOUT_MS / 1_000} s` }
  }
}

/** Formats the regions as a table, with those that the deployment waits for. */
export function formatRegions(
  regions: readonly JobRegionStatus[],
  deployment: Deployment | null,
  paint: Paint,
): string {
  if (regions.length === 0) return ''
  const rows = regions.map((region) => {
    const status = regionStatus(region)
    const version = region.Job === null ? '' : String(region.Job.Version)
    const text = region.Error === '' ? (region.Deployment?.StatusDescription ?? '') : region.Error
    return [region.Region, version, paint(statusStyle(status), status), text]
  })
  const names = regionsWaitedFor(regions, deployment).map((region) =>
    region.Error === '' ? region.Region : `${region.Region} (${NO_ANSWER})`,
  )
  const waits = names.length === 0 ? '' : `The deployment waits for: ${names.join(', ')}\n`
  const heading = renderTable(['Region', 'Version', 'Deployment', 'Description'], rows)
  return `${paint('strong', 'Regions')}\n${heading}${waits}`
}

const NO_ANSWER = 'not answering'

function regionStatus({ Job: job, Deployment: deployment, Error: error }: JobRegionStatus): string {
  if (error !== '') return NO_ANSWER
  if (job === null) return 'not registered'
  return job.Stop ? 'stopped' : (deployment?.Status ?? 'none')
}

/**
 * Returns the regions that a deployment waits for: the preceding ones if it is pending, all others
 * if it is blocked.
 */
function regionsWaitedFor(
  regions: readonly JobRegionStatus[],
  deployment: Deployment | null,
): readonly JobRegionStatus[] {
  const ownIndex = regions.findIndex((one) => one.Deployment?.ID === deployment?.ID)
  const candidates =
    deployment?.Status === 'pending' && ownIndex >= 0
      ? regions.slice(0, ownIndex)
      : deployment?.Status === 'blocked' || deployment?.Status === 'pending'
        ? regions.filter((_, at) => at !== ownIndex)
        : []
  return candidates.filter(isUnfinished)
}

function isUnfinished({ Deployment: deployment, Error: error }: JobRegionStatus): boolean {
  return error !== '' || UNFINISHED.has(deployment?.Status ?? '')
}

const UNFINISHED: ReadonlySet<string> = new Set(['initializing', 'pending', 'running', 'paused'])
