import type { PlacementMetrics } from '@reeve/contract'

/** Describes why allocations could not be placed, one line per cause. */
export function placementFailureLines(metrics: PlacementMetrics): readonly string[] {
  const { NodesEvaluated, NodesInPool, NodePool, CoalescedFailures } = metrics
  return [
    `${1 + CoalescedFailures} not placed; ${NodesEvaluated} of ${NodesInPool} nodes of the pool ${NodePool} looked at.`,
    ...nodeCountLines(metrics.ConstraintFiltered, (rule) => `Filtered by constraint ${rule}`),
    ...nodeCountLines(metrics.ClassFiltered, (name) => `Filtered, class ${name}`),
    ...nodeCountLines(metrics.DimensionExhausted, (name) => `Exhausted: ${name}`),
    ...nodeCountLines(metrics.ClassExhausted, (name) => `Exhausted, class ${name}`),
    ...(metrics.QuotaExhausted ?? []).map((name) => `Quota exhausted: ${name}.`),
    ...(NodesEvaluated === 0 ? ['No eligible nodes.'] : []),
  ]
}

function nodeCountLines(
  counts: Readonly<Record<string, number>> | null,
  describe: (name: string) => string,
): readonly string[] {
  return Object.entries(counts ?? {}).map(
    ([name, count]) => `${describe(name)}: ${count} ${count === 1 ? 'node' : 'nodes'}.`,
  )
}
