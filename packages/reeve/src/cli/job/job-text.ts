import {
  originText,
  type AllocationFailure,
  type AllocationStub,
  type Deployment,
  type Evaluation,
  type Failure,
  type Job,
  type JobHealth,
  type JobSummary,
  type ServiceRegistration,
} from '@reeve/contract'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { ApiError, ConnectionError } from '@reeve/sdk'
import { formatAllocationTable, formatFailure } from '../alloc/allocation-text.ts'
import {
  isActivePeriodic,
  nextLaunchMs,
  placementHoldReason,
  placementPhase,
} from '../../model/index.ts'
import type { CommandContext } from '../command.ts'
import {
  renderNonEmptyFields,
  joinSections,
  shortenId,
  renderTable,
  agoFromNs,
  dateFromNs,
  dateFromMs,
  formatAge,
} from '../output/format.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import { type Paint, statusStyle } from '../output/color.ts'
import { suggestCommand } from '../plan/suggest-command.ts'
import { failingCheckText, formatDeploymentProgress } from '../monitor/deployment-text.ts'
import { formatChildren, type JobStub } from './find-job.ts'

interface JobView {
  readonly job: Job
  /** Undefined if the job was deleted in the meantime. */
  readonly health: JobHealth | undefined
  readonly summary: JobSummary
  readonly allocations: readonly AllocationStub[]
  readonly deployment: Deployment | null
  readonly evaluations: readonly Evaluation[]
  /** Child jobs of a periodic or parameterized job, newest first. */
  readonly children: readonly JobStub[]
  readonly healthOfChild: (child: JobStub) => JobHealth | undefined
  /** Regions of a multi-region job. */
  readonly regions: readonly JobRegionStatus[]
  /** Why the job fails. */
  readonly failures: JobFailures
  /** Service instances with a failing check whose allocation has none of these failures. */
  readonly failingServices: readonly ServiceRegistration[]
  /** The child job to which the failures belong. */
  readonly failingChild: string | undefined
}

/** Distinct failures, most frequent first, with reports for the first few. */
export interface JobFailures {
  readonly all: readonly Failure[]
  readonly explained: ReadonlyMap<Failure, AllocationFailure>
}

/** Formats the status of a job: fields, groups, failures, deployment and allocations. */
export function formatJob(view: JobView, invocation: CommandContext): string {
  const { job, deployment } = view
  const { paint } = invocation.output
  return joinSections([
    formatOverview(view, invocation),
    formatGroupCounts(view.summary, paint),
    formatChildCounts(job, view.summary),
    formatChildren(view.children, view.healthOfChild, invocation),
    formatHold(job, invocation.host.nowMs()),
    formatFailures(view, invocation),
    formatFailingChecks(view, invocation),
    deployment === null || invocation.flags.has('short')
      ? ''
      : `${paint('strong', 'Latest deployment')}\n${formatDeploymentProgress(
          { jobId: job.ID, evaluation: undefined, deployment, allocations: [] },
          paint,
          invocation.host.nowMs(),
        )}`,
    formatRegions(view.regions, deployment, paint),
    view.children.length > 0 ? '' : formatAllocations(view.allocations, invocation),
  ])
}

function formatOverview({ job, health }: JobView, { host, output }: CommandContext): string {
  const { Periodic } = job
  const parameters = dispatchParameters(job)
  const status = health ?? (job.Stop ? 'stopped' : job.Status)
  return renderNonEmptyFields([
    ['ID', job.ID],
    ['Name', job.Name === job.ID ? '' : job.Name],
    ['Namespace', job.Namespace],
    ['Type', job.Type],
    ['Priority', String(job.Priority)],
    ['Datacenters', job.Datacenters.join(', ')],
    ['Node pool', job.NodePool],
    ['Status', output.paint(statusStyle(status), status)],
    ['Quarantine', formatQuarantine(job, output.paint, host.nowMs())],
    ['Version', `${job.Version}${job.Stable ? ', stable' : ''}`],
    ['Submitted', `${dateFromNs(job.SubmitTime)} (${agoFromNs(job.SubmitTime, host.nowMs())})`],
    ['Origin', originText(job)],
    ['Message', escapeControlCharacters(job.Message ?? '')],
    [
      'Periodic',
      Periodic === null
        ? ''
        : `${Periodic.Spec || (Periodic.Specs ?? []).join('; ')} ${Periodic.TimeZone}`,
    ],
    ['Next launch', formatNextLaunch(job, host.nowMs())],
    ['Parameterized', parameters === null ? '' : formatParameters(parameters)],
    ['Made by', job.ParentID],
  ])
}

function formatQuarantine({ Quarantine }: Job, paint: Paint, nowMs: number): string {
  if (Quarantine === undefined) return ''
  const { Version, Time } = Quarantine
  return `${paint('bad', `version ${Version}`)}, since ${dateFromNs(Time)} (${agoFromNs(Time, nowMs)})`
}

/** Formats why placement is delayed after the loss of a node, and until when. */
function formatHold(job: Job, nowMs: number): string {
  const text = job.Stop ? undefined : placementHoldReason(placementPhase(job, nowMs), job)
  return text === undefined ? '' : `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}\n`
}

function formatParameters({
  Payload,
  MetaRequired,
  MetaOptional,
}: NonNullable<Job['ParameterizedJob']>): string {
  const keys = [...(MetaRequired ?? []), ...(MetaOptional ?? []).map((key) => `${key} (optional)`)]
  return `payload ${Payload}${keys.length === 0 ? '' : `, meta ${keys.join(', ')}`}`
}

/**
 * Returns the parameters of a parameterized job. Dispatched child jobs carry the block, too, but
 * accept no dispatches.
 */
function dispatchParameters({ ParameterizedJob, Dispatched }: Job): Job['ParameterizedJob'] {
  return Dispatched ? null : ParameterizedJob
}

function formatGroupCounts(
  { Summary }: JobSummary,
  paint: CommandContext['output']['paint'],
): string {
  const groups = Object.entries(Summary).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const rows = groups.map(([name, group]) => [
    name,
    String(group.Queued),
    String(group.Starting),
    String(group.Running),
    group.Failed > 0 ? paint('bad', String(group.Failed)) : '0',
    String(group.Complete),
    String(group.Lost),
    String(group.Unknown),
  ])
  const heading = [
    'Group',
    'Queued',
    'Starting',
    'Running',
    'Failed',
    'Complete',
    'Lost',
    'Unknown',
  ]
  return renderTable(heading, rows)
}

function formatChildCounts(job: Job, { Children }: JobSummary): string {
  if (job.Periodic === null && dispatchParameters(job) === null) return ''
  const { Pending, Running, Dead } = Children
  return `Child jobs: ${Pending} pending, ${Running} running, ${Dead} dead\n`
}

/** Formats the failures of the current version with log lines and remedies. */
function formatFailures({ failures, failingChild }: JobView, invocation: CommandContext): string {
  const { all, explained } = failures
  if (all.length === 0) return ''
  const shown = all.filter((failure) => explained.has(failure))
  const texts = shown.map((failure) => {
    const known = explained.get(failure)
    return known === undefined ? '' : formatFailure(known, invocation, failure.Count)
  })
  const more = all.length - shown.length
  const rest = more > 0 ? `… and ${more} more ${more === 1 ? 'cause' : 'causes'}\n` : ''
  const title = failingChild === undefined ? 'Failures' : `Failures of ${failingChild}`
  return `${invocation.output.paint('strong', title)}\n${texts.join('')}${rest}`
}

/** Formats failing checks of allocations that are not unhealthy yet. */
function formatFailingChecks({ failingServices }: JobView, invocation: CommandContext): string {
  if (failingServices.length === 0) return ''
  const { paint } = invocation.output
  const shown = failingServices.slice(0, FAILING_CHECKS_SHOWN_MAX)
  const texts = shown.map((service) => {
    const id = shortenId(service.AllocID)
    const words = ['alloc', 'checks', id]
    const command = suggestCommand(invocation, words, service.Namespace)
    return `Allocation ${id}, ${paint('bad', failingCheckText(service))}\n  ${command}\n`
  })
  const more = failingServices.length - shown.length
  const rest = more > 0 ? `… and ${more} more\n` : ''
  return `${paint('strong', 'Failing checks')}\n${texts.join('')}${rest}`
}

const FAILING_CHECKS_SHOWN_MAX = 3

function formatAllocations(
  allocations: readonly AllocationStub[],
  invocation: CommandContext,
): string {
  if (invocation.flags.has('short')) return ''
  if (allocations.length === 0) return 'There are no allocations.\n'
  const newest = allocations.toSorted(
    (a, b) => b.CreateIndex - a.CreateIndex || (a.ID < b.ID ? -1 : 1),
  )
  return `${invocation.output.paint('strong', 'Allocations')}\n${formatAllocationTable(newest, invocation)}`
}

/** Formats the next launch of a periodic job in UTC; empty for other jobs. */
export function formatNextLaunch(job: Job, nowMs: number): string {
  const { Periodic } = job
  if (Periodic === null || !isActivePeriodic(job)) return ''
  try {
    const launchMs = nextLaunchMs(Periodic, nowMs, createTimeZoneOffset())
    return launchMs === undefined
      ? 'never: no time to come fits its schedule'
      : `${dateFromMs(launchMs)} (in ${formatAge(launchMs - nowMs)})`
  } catch (thrown) {
    // The local time zone data lacks the zone of the job.
    if (thrown instanceof RangeError) return ''
    throw thrown
  }
}

/** Timeout of a request to another region. */
const REGION_TIMEOUT_MS = 5_000

/** Status of a multi-region job in one region. */
interface JobRegionStatus {
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
function formatRegions(
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
