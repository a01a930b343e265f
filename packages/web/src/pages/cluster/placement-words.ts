import type { PlacementMetrics } from '@reeve/contract'

/** What the scheduler saw, as sentences. */
export function failureWords(metrics: PlacementMetrics): readonly string[] {
  const { NodesEvaluated, NodesInPool, NodePool, CoalescedFailures } = metrics
  return [
    `${1 + CoalescedFailures} not placed; ${NodesEvaluated} of ${NodesInPool} nodes of the pool ${NodePool} looked at.`,
    ...counted(metrics.ConstraintFiltered, (rule) => `Refused by the rule ${rule}`),
    ...counted(metrics.ClassFiltered, (name) => `Refused, of the class ${name}`),
    ...counted(metrics.DimensionExhausted, (name) => `Without room: ${name}`),
    ...counted(metrics.ClassExhausted, (name) => `Without room, of the class ${name}`),
    ...(metrics.QuotaExhausted ?? []).map((name) => `The quota is used up: ${name}.`),
    ...(NodesEvaluated === 0 ? ['No node was eligible at all.'] : []),
  ]
}

function counted(
  counts: Readonly<Record<string, number>> | null,
  words: (name: string) => string,
): readonly string[] {
  return Object.entries(counts ?? {}).map(
    ([name, count]) => `${words(name)}: ${count} ${count === 1 ? 'node' : 'nodes'}.`,
  )
}
