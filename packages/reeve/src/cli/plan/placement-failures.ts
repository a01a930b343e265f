import {
  placementFailureReasons,
  unplacedCount,
  type Explanation,
  type GroupExplanation,
  type PlacementMetrics,
  type PlacementRefusal,
} from '@reeve/contract'
import type { Paint } from '../output/color.ts'
import { joinSections } from '../output/format.ts'

/** Formats why allocations of a group could not be placed. */
export function formatPlacementFailure(
  group: string,
  metrics: PlacementMetrics,
  paint: Paint,
): string {
  const count = unplacedCount(metrics)
  const head = `Group "${group}": ${pluralize(count, 'allocation')} could not be placed.`
  return [
    paint('bad', head),
    ...placementFailureReasons(metrics).map((reason) => `  * ${reason}`),
  ].join('\n')
}

export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Node names shown per group of nodes with the same reasons. */
const NODES_SHOWN_MAX = 3

/** Formats a summary, then the rejections and suggested changes of each group. */
export function formatExplanation(explanation: Explanation, paint: Paint): string {
  const { Text, Groups, GroupsOmitted } = explanation
  return joinSections([
    `${Text}\n`,
    ...Groups.map((group) => formatGroup(group, paint)),
    GroupsOmitted > 0 ? `${pluralize(GroupsOmitted, 'more group')} had no turn.\n` : '',
  ])
}

function formatGroup(group: GroupExplanation, paint: Paint): string {
  const { TaskGroup, Desired, Placed, Unplaced, Refusals, RefusalsOmitted, Changes } = group
  const head = `Group "${TaskGroup}": ${Placed} of ${Desired} placed, ${Unplaced} not.`
  const waiting = [...new Set(group.Instances.filter(isWaiting).map(({ Text }) => Text))]
  const more = RefusalsOmitted > 0 ? [`  … and ${pluralize(RefusalsOmitted, 'more refusal')}`] : []
  const changes = Changes.map(({ Text }) => `  * ${Text}`)
  const parts = [
    paint('strong', head),
    ...waiting.map((text) => `  * ${text}`),
    ...(Refusals.length === 0 ? [] : ['  Rejected by:']),
    ...Refusals.flatMap(rejectionLines),
    ...more,
    ...(changes.length === 0
      ? []
      : [paint('good', '  Would be placed with:'), ...changes.map(indent)]),
  ]
  return `${parts.join('\n')}\n`
}

function indent(line: string): string {
  return `  ${line}`
}

/**
 * Whether an allocation waits for a time, a deployment or an evaluation instead of being rejected.
 */
function isWaiting({ State }: GroupExplanation['Instances'][number]): boolean {
  return State !== 'refused'
}

function rejectionLines({ NodeCount, Nodes, Reasons }: PlacementRefusal): readonly string[] {
  const names = Nodes.slice(0, NODES_SHOWN_MAX).map(({ ID, Name }) => Name || ID.slice(0, 8))
  const rest = NodeCount > names.length ? ', …' : ''
  const who = `${pluralize(NodeCount, 'node')}${names.length === 0 ? '' : ` (${names.join(', ')}${rest})`}`
  return [`    ${who}:`, ...Reasons.map(({ Text }) => `      - ${Text}`)]
}
