import type { PlacementMetrics } from '@reeve/contract'
import type { Paint } from '../output/style.ts'

/** Why instances of a group have no place, as the scheduler counted it. */
export function metricsText(group: string, metrics: PlacementMetrics, paint: Paint): string {
  const count = unplacedCount(metrics)
  const head = `Group "${group}": ${counted(count, 'allocation')} could not be placed.`
  return [paint('bad', head), ...reasonsOf(metrics).map((reason) => `  * ${reason}`)].join('\n')
}

/** How many instances of a group have no place; without metrics all have one. */
export function unplacedCount(metrics: PlacementMetrics | undefined): number {
  return metrics === undefined ? 0 : metrics.CoalescedFailures + 1
}

function reasonsOf(metrics: PlacementMetrics): readonly string[] {
  const { NodesInPool, NodePool, NodesAvailable, NodesEvaluated } = metrics
  if (NodesInPool === 0 || NodesEvaluated === 0) return [noNodes(NodePool, NodesAvailable)]
  return [
    ...firstOf(
      perNodes(metrics.ConstraintFiltered, (name) => `not met: ${name}`),
      perNodes(metrics.ClassFiltered, (name) => `node class "${name}" is refused`),
    ),
    ...firstOf(
      perNodes(metrics.DimensionExhausted, (name) => `not enough: ${name}`),
      perNodes(metrics.ClassExhausted, (name) => `node class "${name}" is full`),
    ),
    ...(metrics.QuotaExhausted ?? []).map((name) => `the quota is used up: ${name}`),
  ]
}

/** The same nodes are counted by reason and by class: a class tells only of which kind they are. */
function firstOf(reasons: readonly string[], classes: readonly string[]): readonly string[] {
  return reasons.length > 0 ? reasons : classes
}

function noNodes(pool: string, available: PlacementMetrics['NodesAvailable']): string {
  const places = Object.entries(available).filter(([, count]) => count > 0)
  const seen = places.map(([name, count]) => `${name} (${counted(count, 'node')})`).join(', ')
  const where = `No node is ready in pool "${pool}" and the datacenters of the job.`
  return seen === '' ? where : `${where} There are nodes in ${seen}.`
}

function perNodes(
  counts: Readonly<Record<string, number>> | null,
  says: (name: string) => string,
): readonly string[] {
  return Object.entries(counts ?? {})
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([name, count]) => `${says(name)} (${counted(count, 'node')})`)
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
