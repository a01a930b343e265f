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
import { allocationTable } from '../alloc/allocation-table.ts'
import { failureText } from '../alloc/failure-text.ts'
import { holdText, placementPhase } from '../../model/index.ts'
import type { Invocation } from '../command.ts'
import { knownFields, sections } from '../output/known-fields.ts'
import { printableName } from '../output/printable.ts'
import type { Paint } from '../output/style.ts'
import { shortId, table } from '../output/table.ts'
import { agoFromNs, dateFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import { metricsText } from '../plan/metrics-text.ts'
import { nextCommand } from '../plan/next-command.ts'
import { failingCheckText } from '../watch/rollout-state.ts'
import { rolloutText } from '../watch/rollout-text.ts'
import { childrenText, type JobStub } from './children.ts'
import { nextLaunchText } from './next-launch.ts'
import { regionsText, type RegionOfJob } from './regions-of-job.ts'

interface KnownJob {
  readonly job: Job
  /** Undefined if the job was deleted in the meantime. */
  readonly health: JobHealth | undefined
  readonly summary: JobSummary
  readonly allocations: readonly AllocationStub[]
  readonly deployment: Deployment | null
  readonly evaluations: readonly Evaluation[]
  /** Those of a periodic or parameterized job, the newest first. */
  readonly children: readonly JobStub[]
  readonly healthOfChild: (child: JobStub) => JobHealth | undefined
  /** Those of a multi-region job. */
  readonly regions: readonly RegionOfJob[]
  /** Why allocations of the current version fail. */
  readonly failures: KnownFailures
  /** Service instances with a failing check whose allocation has none of these failures. */
  readonly failingServices: readonly ServiceRegistration[]
  /** The child job that these failures are of. */
  readonly failingChild: string | undefined
}

/** Different failures, the most frequent first; each of the first few as the server explains it. */
export interface KnownFailures {
  readonly all: readonly Failure[]
  readonly explained: ReadonlyMap<Failure, AllocationFailure>
}

/** One job: what it is, how its groups do, why something waits, where its allocations are. */
export function jobText(known: KnownJob, invocation: Invocation): string {
  const { job, deployment } = known
  const { paint } = invocation.output
  return sections([
    overview(known, invocation),
    groupText(known.summary, paint),
    childText(job, known.summary),
    childrenText(known.children, known.healthOfChild, invocation),
    heldBackText(job, invocation.host.nowMs()),
    waitingText(known, invocation),
    failuresText(known, invocation),
    failingChecksText(known, invocation),
    deployment === null || invocation.flags.has('short')
      ? ''
      : `${paint('strong', 'Latest deployment')}\n${rolloutText(
          { jobId: job.ID, evaluation: undefined, deployment, allocations: [] },
          paint,
          invocation.host.nowMs(),
        )}`,
    regionsText(known.regions, deployment, paint),
    known.children.length > 0 ? '' : allocationsText(known.allocations, invocation),
  ])
}

function overview({ job, health }: KnownJob, { host, output }: Invocation): string {
  const { Periodic } = job
  const parameters = parametersOf(job)
  const status = health ?? (job.Stop ? 'stopped' : job.Status)
  return knownFields([
    ['ID', job.ID],
    ['Name', job.Name === job.ID ? '' : job.Name],
    ['Namespace', job.Namespace],
    ['Type', job.Type],
    ['Priority', String(job.Priority)],
    ['Datacenters', job.Datacenters.join(', ')],
    ['Node pool', job.NodePool],
    ['Status', output.paint(toneOf(status), status)],
    ['Quarantine', quarantineText(job, output.paint, host.nowMs())],
    ['Version', `${job.Version}${job.Stable ? ', stable' : ''}`],
    ['Submitted', `${dateFromNs(job.SubmitTime)} (${agoFromNs(job.SubmitTime, host.nowMs())})`],
    ['Origin', originText(job)],
    ['Message', printableName(job.Message ?? '')],
    [
      'Periodic',
      Periodic === null
        ? ''
        : `${Periodic.Spec || (Periodic.Specs ?? []).join('; ')} ${Periodic.TimeZone}`,
    ],
    ['Next launch', nextLaunchText(job, host.nowMs())],
    ['Parameterized', parameters === null ? '' : parametersText(parameters)],
    ['Made by', job.ParentID],
  ])
}

function quarantineText({ Quarantine }: Job, paint: Paint, nowMs: number): string {
  if (Quarantine === undefined) return ''
  const { Version, Time } = Quarantine
  return `${paint('bad', `version ${Version}`)}, since ${dateFromNs(Time)} (${agoFromNs(Time, nowMs)})`
}

/** Why nothing is placed after the loss of a node, and what ends that. */
function heldBackText(job: Job, nowMs: number): string {
  const text = job.Stop ? undefined : holdText(placementPhase(job, nowMs), job)
  return text === undefined ? '' : `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}\n`
}

function parametersText({
  Payload,
  MetaRequired,
  MetaOptional,
}: NonNullable<Job['ParameterizedJob']>): string {
  const keys = [...(MetaRequired ?? []), ...(MetaOptional ?? []).map((key) => `${key} (optional)`)]
  return `payload ${Payload}${keys.length === 0 ? '' : `, meta ${keys.join(', ')}`}`
}

/** A dispatched instance carries the block but takes no dispatches itself. */
function parametersOf({ ParameterizedJob, Dispatched }: Job): Job['ParameterizedJob'] {
  return Dispatched ? null : ParameterizedJob
}

function groupText({ Summary }: JobSummary, paint: Invocation['output']['paint']): string {
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
  return table(heading, rows)
}

function childText(job: Job, { Children }: JobSummary): string {
  if (job.Periodic === null && parametersOf(job) === null) return ''
  const { Pending, Running, Dead } = Children
  return `Child jobs: ${Pending} pending, ${Running} running, ${Dead} dead\n`
}

/** The evaluation that waits for room says what is missing. */
function waitingText({ job, evaluations }: KnownJob, { output: { paint } }: Invocation): string {
  const blocked = evaluations.find(({ Status }) => Status === 'blocked')
  const failed = Object.entries(blocked?.FailedTGAllocs ?? {}).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  )
  if (job.Stop || failed.length === 0) return ''
  const lines = failed.map(([name, metrics]) => metricsText(name, metrics, paint))
  return `${lines.join('\n')}\nWhat would help: reeve job explain ${job.ID}\n`
}

/** Why allocations of the current version fail, with what they wrote last and what to do. */
function failuresText({ failures, failingChild }: KnownJob, invocation: Invocation): string {
  const { all, explained } = failures
  if (all.length === 0) return ''
  const shown = all.filter((failure) => explained.has(failure))
  const texts = shown.map((failure) => {
    const known = explained.get(failure)
    return known === undefined ? '' : failureText(known, invocation, failure.Count)
  })
  const more = all.length - shown.length
  const rest = more > 0 ? `… and ${more} more ${more === 1 ? 'cause' : 'causes'}\n` : ''
  const title = failingChild === undefined ? 'Failures' : `Failures of ${failingChild}`
  return `${invocation.output.paint('strong', title)}\n${texts.join('')}${rest}`
}

/** Checks that fail before they count as a failure: their allocation may yet become healthy. */
function failingChecksText({ failingServices }: KnownJob, invocation: Invocation): string {
  if (failingServices.length === 0) return ''
  const { paint } = invocation.output
  const shown = failingServices.slice(0, FAILING_CHECKS_SHOWN_MAX)
  const texts = shown.map((service) => {
    const id = shortId(service.AllocID)
    const words = ['alloc', 'checks', id]
    const command = nextCommand(invocation, words, service.Namespace)
    return `Allocation ${id}, ${paint('bad', failingCheckText(service))}\n  ${command}\n`
  })
  const more = failingServices.length - shown.length
  const rest = more > 0 ? `… and ${more} more\n` : ''
  return `${paint('strong', 'Failing checks')}\n${texts.join('')}${rest}`
}

const FAILING_CHECKS_SHOWN_MAX = 3

function allocationsText(allocations: readonly AllocationStub[], invocation: Invocation): string {
  if (invocation.flags.has('short')) return ''
  if (allocations.length === 0) return 'There are no allocations.\n'
  const newest = allocations.toSorted(
    (a, b) => b.CreateIndex - a.CreateIndex || (a.ID < b.ID ? -1 : 1),
  )
  return `${invocation.output.paint('strong', 'Allocations')}\n${allocationTable(newest, invocation)}`
}
