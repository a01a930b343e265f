import { allocationHealth, type Allocation, type AllocationFailure } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { idText } from '../find-id.ts'
import { knownFields, sections } from '../output/known-fields.ts'
import { table } from '../output/table.ts'
import { agoFromIso, agoFromNs, dateFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import { failureText } from './failure-text.ts'

type TaskState = NonNullable<Allocation['TaskStates']>[string]
type TaskResources = Allocation['AllocatedResources']['Tasks'][string]

/** Everything a person asks of an allocation: where it is, how it does, what happened to it. */
export function allocationText(
  allocation: Allocation,
  failure: AllocationFailure | undefined,
  invocation: Invocation,
): string {
  const states = Object.entries(allocation.TaskStates ?? {})
  const tasks = states.toSorted(([a], [b]) => (a < b ? -1 : 1))
  const isVerbose = invocation.flags.has('verbose')
  return sections([
    overview(allocation, invocation),
    failure === undefined ? '' : failureText(failure, invocation),
    portTable(allocation),
    ...tasks.map(([name, state]) => {
      const asked = allocation.AllocatedResources.Tasks[name]
      return taskText({ name, state, asked }, invocation)
    }),
    tasks.length === 0 ? 'No task has started yet.\n' : '',
    isVerbose ? placementText(allocation) : '',
  ])
}

function overview(allocation: Allocation, { flags, host, output }: Invocation): string {
  const { ClientDescription, DesiredStatus, DesiredDescription } = allocation
  const health = allocationHealth(allocation, host.nowMs())
  const isVerbose = flags.has('verbose')
  const id = (text: string): string => idText(text, isVerbose)
  const status = output.paint(toneOf(health), health)
  return knownFields([
    ['ID', allocation.ID],
    ['Name', allocation.Name],
    ['Namespace', allocation.Namespace],
    ['Job', `${allocation.JobID}, version ${allocation.JobVersion}`],
    ['Node', `${id(allocation.NodeID)} ${allocation.NodeName}`],
    ['Status', withReason(status, ClientDescription)],
    ['Desired', withReason(DesiredStatus, DesiredDescription)],
    ['Evaluation', id(allocation.EvalID)],
    ['Deployment', deploymentText(allocation, isVerbose)],
    ['Replaces', id(allocation.PreviousAllocation)],
    ['Replaced by', id(allocation.NextAllocation)],
    ['Displaces', (allocation.PreemptedAllocations ?? []).map(id).join(', ')],
    ['Preempted by', id(allocation.PreemptedByAllocation)],
    ['Rescheduled as', id(allocation.FollowupEvalID)],
    ['Created', agoFromNs(allocation.CreateTime, host.nowMs())],
    ['Modified', agoFromNs(allocation.ModifyTime, host.nowMs())],
  ])
}

function withReason(status: string, reason: string): string {
  return reason === '' ? status : `${status} (${reason})`
}

function deploymentText({ DeploymentID, DeploymentStatus }: Allocation, isVerbose: boolean) {
  if (DeploymentID === '') return ''
  const canary = DeploymentStatus?.Canary === true ? ' (canary)' : ''
  return `${idText(DeploymentID, isVerbose)}${canary}`
}

function portTable({ AllocatedResources }: Allocation): string {
  const rows = (AllocatedResources.Shared.Ports ?? []).map(({ Label, HostIP, Value, To }) => [
    Label,
    `${HostIP}:${Value}`,
    To > 0 ? String(To) : '',
  ])
  return rows.length === 0 ? '' : `Ports\n${table(['Label', 'Address', 'To'], rows)}`
}

interface ShownTask {
  readonly name: string
  readonly state: TaskState
  readonly asked: TaskResources | undefined
}

function taskText({ name, state, asked }: ShownTask, { host, output }: Invocation): string {
  const nowMs = host.nowMs()
  const word = state.State === 'dead' && state.Failed ? 'failed' : state.State
  const restarts = `${state.Restarts}, the last ${agoFromIso(state.LastRestart, nowMs)}`
  const events = state.Events.toReversed().map((event) => [
    dateFromNs(event.Time),
    event.Type,
    event.DisplayMessage,
  ])
  return [
    `Task "${name}" is ${output.paint(toneOf(word), word)}\n`,
    knownFields([
      ['Asked for', asked === undefined ? '' : resourceText(asked)],
      ['Started', agoFromIso(state.StartedAt, nowMs)],
      ['Finished', agoFromIso(state.FinishedAt, nowMs)],
      ['Restarts', state.Restarts === 0 ? '' : restarts],
      ['Paused', state.Paused],
    ]),
    table(['Time', 'Event', 'Description'], events),
  ].join('')
}

function resourceText({ Cpu, Memory }: TaskResources): string {
  const most = Memory.MemoryMaxMB > Memory.MemoryMB ? ` (at most ${Memory.MemoryMaxMB} MB)` : ''
  return `${Cpu.CpuShares} MHz, ${Memory.MemoryMB} MB${most}`
}

/** Why it is on this node: the scores of the best ones. */
function placementText({ Metrics }: Allocation): string {
  const { NodesEvaluated, NodesFiltered, NodesExhausted, ScoreMetaData } = Metrics
  const rows = (ScoreMetaData ?? []).map(({ NodeID, NormScore, Scores }) => [
    NodeID,
    NormScore.toFixed(3),
    Object.entries(Scores)
      .map(([scorer, score]) => `${scorer} ${score.toFixed(3)}`)
      .join(', '),
  ])
  const counts = knownFields([
    ['Nodes evaluated', String(NodesEvaluated)],
    ['Filtered by constraints', String(NodesFiltered)],
    ['Exhausted', String(NodesExhausted)],
  ])
  return `Placement\n${counts}${table(['Node', 'Score', 'Of which'], rows)}`
}
