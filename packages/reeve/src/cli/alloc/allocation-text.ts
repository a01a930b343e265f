import { allocationHealth, type Allocation, type AllocationFailure } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { formatId } from '../find-id.ts'
import { renderNonEmptyFields, joinSections } from '../output/known-fields.ts'
import { renderTable } from '../output/table.ts'
import { agoFromIso, agoFromNs, dateFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import { formatFailure } from './failure-text.ts'

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
