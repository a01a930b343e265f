import {
  allocationHealth,
  type Allocation,
  type AllocationFailure,
  type AllocationHealthFacts,
  type CheckResult,
  type NextAttempt,
} from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { formatId } from '../resolve.ts'
import {
  renderNonEmptyFields,
  joinSections,
  renderTable,
  agoFromIso,
  agoFromNs,
  dateFromNs,
  formatAge,
  shortenId,
} from '../output/format.ts'
import { statusStyle } from '../output/color.ts'
import type { AllocationStub } from './find-allocation.ts'

type TaskState = NonNullable<Allocation['TaskStates']>[string]
type TaskResources = Allocation['AllocatedResources']['Tasks'][string]

/** Formats the details of an allocation: node, health, tasks and events. */
export function formatAllocation(
  allocation: Allocation,
  failure: AllocationFailure | undefined,
  invocation: CommandContext,
): string {
  const states = Object.entries(allocation.TaskStates ?? {})
  const tasks = states.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const isVerbose = invocation.flags.has('verbose')
  return joinSections([
    formatOverview(allocation, invocation),
    failure === undefined ? '' : formatFailure(failure, invocation),
    formatPorts(allocation),
    ...tasks.map(([name, state]) => {
      const asked = allocation.AllocatedResources.Tasks[name]
      return formatTask({ name, state, resources: asked }, invocation)
    }),
    tasks.length === 0 ? 'No task has started yet.\n' : '',
    isVerbose ? formatPlacement(allocation) : '',
  ])
}

function formatOverview(allocation: Allocation, { flags, host, output }: CommandContext): string {
  const { ClientDescription, DesiredStatus, DesiredDescription } = allocation
  const health = allocationHealth(allocation, host.nowMs())
  const isVerbose = flags.has('verbose')
  const id = (text: string): string => formatId(text, isVerbose)
  const status = output.paint(statusStyle(health), health)
  return renderNonEmptyFields([
    ['ID', allocation.ID],
    ['Name', allocation.Name],
    ['Namespace', allocation.Namespace],
    ['Job', `${allocation.JobID}, version ${allocation.JobVersion}`],
    ['Node', `${id(allocation.NodeID)} ${allocation.NodeName}`],
    ['Status', appendReason(status, ClientDescription)],
    ['Desired', appendReason(DesiredStatus, DesiredDescription)],
    ['Evaluation', id(allocation.EvalID)],
    ['Deployment', formatDeployment(allocation, isVerbose)],
    ['Replaces', id(allocation.PreviousAllocation)],
    ['Replaced by', id(allocation.NextAllocation)],
    ['Displaces', (allocation.PreemptedAllocations ?? []).map(id).join(', ')],
    ['Preempted by', id(allocation.PreemptedByAllocation)],
    ['Rescheduled as', id(allocation.FollowupEvalID)],
    ['Created', agoFromNs(allocation.CreateTime, host.nowMs())],
    ['Modified', agoFromNs(allocation.ModifyTime, host.nowMs())],
  ])
}

function appendReason(status: string, reason: string): string {
  return reason === '' ? status : `${status} (${reason})`
}

function formatDeployment({ DeploymentID, DeploymentStatus }: Allocation, isVerbose: boolean) {
  if (DeploymentID === '') return ''
  const canary = DeploymentStatus?.Canary === true ? ' (canary)' : ''
  return `${formatId(DeploymentID, isVerbose)}${canary}`
}

function formatPorts({ AllocatedResources }: Allocation): string {
  const rows = (AllocatedResources.Shared.Ports ?? []).map(({ Label, HostIP, Value, To }) => [
    Label,
    `${HostIP}:${Value}`,
    To > 0 ? String(To) : '',
  ])
  return rows.length === 0 ? '' : `Ports\n${renderTable(['Label', 'Address', 'To'], rows)}`
}

interface TaskView {
  readonly name: string
  readonly state: TaskState
  readonly resources: TaskResources | undefined
}

function formatTask(
  { name, state, resources }: TaskView,
  { host, output }: CommandContext,
): string {
  const nowMs = host.nowMs()
  const word = state.State === 'dead' && state.Failed ? 'failed' : state.State
  const restarts = `${state.Restarts}, the last ${agoFromIso(state.LastRestart, nowMs)}`
  const events = state.Events.toReversed().map((event) => [
    dateFromNs(event.Time),
    event.Type,
    event.DisplayMessage,
  ])
  return [
    `Task "${name}" is ${output.paint(statusStyle(word), word)}\n`,
    renderNonEmptyFields([
      ['Asked for', resources === undefined ? '' : formatResources(resources)],
      ['Started', agoFromIso(state.StartedAt, nowMs)],
      ['Finished', agoFromIso(state.FinishedAt, nowMs)],
      ['Restarts', state.Restarts === 0 ? '' : restarts],
      ['Paused', state.Paused],
    ]),
    renderTable(['Time', 'Event', 'Description'], events),
  ].join('')
}

function formatResources({ Cpu, Memory }: TaskResources): string {
  const memoryMax =
    Memory.MemoryMaxMB > Memory.MemoryMB ? ` (at most ${Memory.MemoryMaxMB} MB)` : ''
  return `${Cpu.CpuShares} MHz, ${Memory.MemoryMB} MB${memoryMax}`
}

/** Formats why the scheduler chose the node: the scores of the best candidates. */
function formatPlacement({ Metrics }: Allocation): string {
  const { NodesEvaluated, NodesFiltered, NodesExhausted, ScoreMetaData } = Metrics
  const rows = (ScoreMetaData ?? []).map(({ NodeID, NormScore, Scores }) => [
    NodeID,
    NormScore.toFixed(3),
    Object.entries(Scores)
      .map(([scorer, score]) => `${scorer} ${score.toFixed(3)}`)
      .join(', '),
  ])
  const counts = renderNonEmptyFields([
    ['Nodes evaluated', String(NodesEvaluated)],
    ['Filtered by constraints', String(NodesFiltered)],
    ['Exhausted', String(NodesExhausted)],
  ])
  return `Placement\n${counts}${renderTable(['Node', 'Score', 'Of which'], rows)}`
}

type ListedAllocation = AllocationHealthFacts &
  Pick<
    AllocationStub,
    'Namespace' | 'JobID' | 'TaskGroup' | 'JobVersion' | 'NodeID' | 'NodeName' | 'CreateTime'
  >

/** Allocations as every command lists them. */
export function formatAllocationTable(
  allocations: readonly ListedAllocation[],
  { flags, host, output, settings }: CommandContext,
): string {
  const isVerbose = flags.has('verbose')
  const isEverywhere = settings.namespace === '*'
  const rows = allocations.map((one) => {
    const health = allocationHealth(one, host.nowMs())
    return [
      formatId(one.ID, isVerbose),
      ...(isEverywhere ? [one.Namespace] : []),
      one.JobID,
      one.TaskGroup,
      String(one.JobVersion),
      one.NodeName === '' ? formatId(one.NodeID, isVerbose) : one.NodeName,
      one.DesiredStatus,
      output.paint(statusStyle(health), health),
      agoFromNs(one.CreateTime, host.nowMs()),
    ]
  })
  const place = isEverywhere ? ['Namespace'] : []
  const after = ['Job', 'Group', 'Version', 'Node', 'Desired', 'Status', 'Created']
  return renderTable(['ID', ...place, ...after], rows)
}

/** Reads the failure report of an allocation; undefined if the server rejects the request. */
export async function readFailureReport(
  { client }: CommandContext,
  allocation: { readonly ID: string; readonly Namespace: string },
): Promise<AllocationFailure | undefined> {
  try {
    const params = { alloc_id: allocation.ID }
    const query = { namespace: allocation.Namespace }
    return (await client.v1.readAllocationFailure({ params, query })).data
  } catch (thrown) {
    // The other details are printed without it: servers of earlier versions do not have the route.
    if (thrown instanceof ApiError) return undefined
    throw thrown
  }
}

/** Formats a failure: cause, log lines, next attempt and remedies. */
export function formatFailure(
  { Failure, Lines, LinesFrom, LinesOmitted, Check, NextAttempt, Remedies }: AllocationFailure,
  { host, output: { paint } }: CommandContext,
  count = 1,
): string {
  if (Failure === null) return ''
  const { AllocID, Task, Text, Time } = Failure
  const where = Task === '' ? '' : `Task "${Task}": `
  const often = count > 1 && AllocID !== '' ? ` (${count} allocations)` : ''
  const ago = agoFromNs(Time, host.nowMs())
  const from = LinesFrom === undefined ? '' : `  Last lines of ${LinesFrom}:\n`
  return [
    `${paint('bad', `${capitalize(`${where}${Text}`)}${often}`)}, ${ago}\n`,
    Check === undefined ? '' : formatCheck(Check),
    Lines === undefined ? '' : `${from}${Lines.map((line) => `    ${line}\n`).join('')}`,
    LinesOmitted === undefined ? '' : `  No log lines: ${LinesOmitted}\n`,
    NextAttempt === null ? '' : `  Next: ${formatNextAttempt(NextAttempt, host.nowMs())}\n`,
    ...Remedies.map(({ Text: remedy, Command }) => `  ${remedy}:\n    ${Command}\n`),
  ].join('')
}

function capitalize(text: string): string {
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`
}

function formatCheck({ Check, Service, StatusCode, Output }: CheckResult): string {
  const status = StatusCode === undefined ? '' : ` answered ${StatusCode}`
  const body = Output.trimEnd()
    .split('\n')
    .map((line) => `    ${line}\n`)
  return `  Check "${Check}" of service "${Service}"${status}:\n${body.join('')}`
}

/** `in 14 s: Restart 3 on the same node; …` */
function formatNextAttempt({ Text, Time, AllocID }: NextAttempt, nowMs: number): string {
  const dueMs = msFromNs(Time)
  const due = dueMs > nowMs ? `in ${formatAge(dueMs - nowMs)}: ` : ''
  return `${due}${Text}${AllocID === '' ? '' : ` (${shortenId(AllocID)})`}`
}
