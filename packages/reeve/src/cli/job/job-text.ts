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
import { formatAllocationTable } from '../alloc/allocation-table.ts'
import { formatFailure } from '../alloc/failure-text.ts'
import { placementHoldReason, placementPhase } from '../../model/index.ts'
import type { CommandContext } from '../command.ts'
import { renderNonEmptyFields, joinSections } from '../output/known-fields.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import type { Paint } from '../output/style.ts'
import { shortenId, renderTable } from '../output/table.ts'
import { agoFromNs, dateFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import { formatPlacementFailure } from '../plan/metrics-text.ts'
import { suggestCommand } from '../plan/next-command.ts'
import { failingCheckText } from '../watch/rollout-state.ts'
import { formatDeploymentProgress } from '../watch/rollout-text.ts'
import { formatChildren, type JobStub } from './children.ts'
import { formatNextLaunch } from './next-launch.ts'
import { formatRegions, type JobRegionStatus } from './regions-of-job.ts'

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
  /** Why allocations of the current version fail. */
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
    formatPlacementFailures(view, invocation),
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

/** Formats the placement failures of the blocked evaluation. */
function formatPlacementFailures(
  { job, evaluations }: JobView,
  { output: { paint } }: CommandContext,
): string {
  const blocked = evaluations.find(({ Status }) => Status === 'blocked')
  const failed = Object.entries(blocked?.FailedTGAllocs ?? {}).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  )
  if (job.Stop || failed.length === 0) return ''
  const lines = failed.map(([name, metrics]) => formatPlacementFailure(name, metrics, paint))
  return `${lines.join('\n')}\nWhat would help: reeve job explain ${job.ID}\n`
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
