import { allocationHealth, type AllocationStub, type Deployment } from '@reeve/contract'
import type { Paint } from '../output/style.ts'
import { shortenId, renderTable } from '../output/table.ts'
import { statusStyle } from '../output/tone.ts'
import { formatPlacementFailure } from '../plan/metrics-text.ts'
import { WAITING_MESSAGE } from './rollout-lines.ts'
import {
  formatHealth,
  failureReason,
  unplacedGroups,
  type DeploymentProgress,
} from './rollout-state.ts'

/** Allocations shown, newest first. */
const ALLOCATIONS_SHOWN_MAX = 20
const FAILURES_SHOWN_MAX = 3

/** Formats the progress for a redrawn screen. */
export function formatDeploymentProgress(
  state: DeploymentProgress,
  paint: Paint,
  nowMs: number,
): string {
  const { evaluation, deployment, allocations } = state
  const parts = [
    evaluation === undefined
      ? ''
      : `Evaluation ${shortenId(evaluation.ID)}  ${colorizeStatus(evaluation.Status, paint)}\n`,
    formatWaiting(state, paint),
    state.heldBack === undefined ? '' : `${paint('warning', state.heldBack)}\n`,
    deployment === undefined ? '' : formatDeployment(deployment, paint),
    allocations.length === 0 ? '' : `\n${formatAllocations(state, paint, nowMs)}`,
  ]
  return parts.join('')
}

function formatWaiting(state: DeploymentProgress, paint: Paint): string {
  const groups = unplacedGroups(state).map(([name, metrics]) =>
    formatPlacementFailure(name, metrics, paint),
  )
  return groups.length === 0 ? '' : `${groups.join('\n')}\n${paint('warning', WAITING_MESSAGE)}\n`
}

function colorizeStatus(status: string, paint: Paint): string {
  return paint(statusStyle(status), status)
}

function formatDeployment(deployment: Deployment, paint: Paint): string {
  const { ID, Status, StatusDescription, TaskGroups } = deployment
  const groups = Object.entries(TaskGroups).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const hasCanaries = groups.some(([, group]) => group.DesiredCanaries > 0)
  const rows = groups.map(([name, group]) => [
    name,
    String(group.DesiredTotal),
    ...(hasCanaries ? [canaryText(group)] : []),
    String(group.PlacedAllocs),
    String(group.HealthyAllocs),
    String(group.UnhealthyAllocs),
  ])
  const canaries = hasCanaries ? ['Canaries'] : []
  const heading = ['Group', 'Desired', ...canaries, 'Placed', 'Healthy', 'Unhealthy']
  const head = `Deployment ${shortenId(ID)}  ${colorizeStatus(Status, paint)}  ${paint('dim', StatusDescription)}`
  return `${head.trimEnd()}\n\n${renderTable(heading, rows)}`
}

function canaryText({
  DesiredCanaries,
  PlacedCanaries,
  Promoted,
}: Deployment['TaskGroups'][string]): string {
  if (DesiredCanaries === 0) return '-'
  return Promoted ? 'promoted' : `${PlacedCanaries?.length ?? 0} of ${DesiredCanaries}`
}

function formatAllocations(state: DeploymentProgress, paint: Paint, nowMs: number): string {
  const newest = state.allocations.toSorted(
    (a, b) => b.CreateIndex - a.CreateIndex || (a.Name < b.Name ? -1 : 1),
  )
  const rows = newest
    .slice(0, ALLOCATIONS_SHOWN_MAX)
    .map((one) => [
      shortenId(one.ID),
      one.TaskGroup,
      one.NodeName,
      String(one.JobVersion),
      paint(statusStyle(allocationHealth(one, nowMs)), formatHealth(one, nowMs)),
    ])
  const more = newest.length - rows.length
  return [
    renderTable(['Allocation', 'Group', 'Node', 'Version', 'Status'], rows),
    more > 0 ? `… and ${more} more\n` : '',
    ...failureLines(newest, state).map((line) => `${paint('warning', line)}\n`),
  ].join('')
}

/** Formats failures during monitoring, because the deadline may be minutes away. */
function failureLines(
  newest: readonly AllocationStub[],
  state: DeploymentProgress,
): readonly string[] {
  const lines = newest.flatMap((one) => {
    const trouble = failureReason(one, state)
    return trouble === undefined ? [] : [`${shortenId(one.ID)}, ${trouble}`]
  })
  return lines.length === 0 ? [] : ['', ...lines.slice(0, FAILURES_SHOWN_MAX)]
}
