import { allocationHealth, type AllocationStub, type Deployment } from '@reeve/contract'
import type { Paint } from '../output/style.ts'
import { shortId, table } from '../output/table.ts'
import { toneOf } from '../output/tone.ts'
import { metricsText } from '../plan/metrics-text.ts'
import { WAITS } from './rollout-lines.ts'
import { healthText, troubleOf, unplacedGroups, type RolloutState } from './rollout-state.ts'

/** Allocations that a screen shows; the newest are the ones that move. */
const SHOWN_MAX = 20
const TROUBLES_MAX = 3

/** The whole state as one picture. */
export function rolloutText(state: RolloutState, paint: Paint, nowMs: number): string {
  const { evaluation, deployment, allocations } = state
  const parts = [
    evaluation === undefined
      ? ''
      : `Evaluation ${shortId(evaluation.ID)}  ${word(evaluation.Status, paint)}\n`,
    waitingText(state, paint),
    state.heldBack === undefined ? '' : `${paint('warning', state.heldBack)}\n`,
    deployment === undefined ? '' : deploymentText(deployment, paint),
    allocations.length === 0 ? '' : `\n${allocationText(state, paint, nowMs)}`,
  ]
  return parts.join('')
}

function waitingText(state: RolloutState, paint: Paint): string {
  const groups = unplacedGroups(state).map(([name, metrics]) => metricsText(name, metrics, paint))
  return groups.length === 0 ? '' : `${groups.join('\n')}\n${paint('warning', WAITS)}\n`
}

function word(status: string, paint: Paint): string {
  return paint(toneOf(status), status)
}

function deploymentText(deployment: Deployment, paint: Paint): string {
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
  const head = `Deployment ${shortId(ID)}  ${word(Status, paint)}  ${paint('dim', StatusDescription)}`
  return `${head.trimEnd()}\n\n${table(heading, rows)}`
}

function canaryText({
  DesiredCanaries,
  PlacedCanaries,
  Promoted,
}: Deployment['TaskGroups'][string]): string {
  if (DesiredCanaries === 0) return '-'
  return Promoted ? 'promoted' : `${PlacedCanaries?.length ?? 0} of ${DesiredCanaries}`
}

function allocationText(state: RolloutState, paint: Paint, nowMs: number): string {
  const newest = state.allocations.toSorted(
    (a, b) => b.CreateIndex - a.CreateIndex || (a.Name < b.Name ? -1 : 1),
  )
  const rows = newest
    .slice(0, SHOWN_MAX)
    .map((one) => [
      shortId(one.ID),
      one.TaskGroup,
      one.NodeName,
      String(one.JobVersion),
      paint(toneOf(allocationHealth(one, nowMs)), healthText(one, nowMs)),
    ])
  const more = newest.length - rows.length
  return [
    table(['Allocation', 'Group', 'Node', 'Version', 'Status'], rows),
    more > 0 ? `… and ${more} more\n` : '',
    ...troubleLines(newest, state).map((line) => `${paint('warning', line)}\n`),
  ].join('')
}

/** Said while it is watched: a deadline that ends it may be minutes away. */
function troubleLines(newest: readonly AllocationStub[], state: RolloutState): readonly string[] {
  const lines = newest.flatMap((one) => {
    const trouble = troubleOf(one, state)
    return trouble === undefined ? [] : [`${shortId(one.ID)}, ${trouble}`]
  })
  return lines.length === 0 ? [] : ['', ...lines.slice(0, TROUBLES_MAX)]
}
