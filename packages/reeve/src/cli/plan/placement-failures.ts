import type {
  Explanation,
  GroupExplanation,
  PlacementMetrics,
  PlacementRefusal,
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

/** Number of allocations of a group that could not be placed; 0 without metrics. */
export function unplacedCount(metrics: PlacementMetrics | undefined): number {
  return metrics === undefined ? 0 : metrics.CoalescedFailures + 1
}

function placementFailureReasons(metrics: PlacementMetrics): readonly string[] {
  const { NodesInPool, NodePool, NodesAvailable, NodesEvaluated } = metrics
  if (NodesInPool === 0 || NodesEvaluated === 0) return [formatNoNodes(NodePool, NodesAvailable)]
  return [
    ...preferReasons(
      countLines(metrics.ConstraintFiltered, (name) => `not met: ${name}`),
      countLines(metrics.ClassFiltered, (name) => `node class "${name}" is refused`),
    ),
    ...preferReasons(
      countLines(metrics.DimensionExhausted, (name) => `not enough: ${name}`),
      countLines(metrics.ClassExhausted, (name) => `node class "${name}" is full`),
    ),
    ...(metrics.QuotaExhausted ?? []).map((name) => `the quota is used up: ${name}`),
  ]
}

/** Prefers reasons to node classes: both count the same nodes. */
function preferReasons(reasons: readonly string[], classes: readonly string[]): readonly string[] {
  return reasons.length > 0 ? reasons : classes
}

function formatNoNodes(pool: string, available: PlacementMetrics['NodesAvailable']): string {
  const places = Object.entries(available).filter(([, count]) => count > 0)
  const seen = places.map(([name, count]) => `${name} (${pluralize(count, 'node')})`).join(', ')
  const where = `No node is ready in pool "${pool}" and the datacenters of the job.`
  return seen === '' ? where : `${where} There are nodes in ${seen}.`
}

function countLines(
  counts: Readonly<Record<string, number>> | null,
  says: (name: string) => string,
): readonly string[] {
  return Object.entries(counts ?? {})
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([name, count]) => `${says(name)} (${pluralize(count, 'node')})`)
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
