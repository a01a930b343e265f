import type { NodeScore, PlacementMetrics } from '@reeve/contract'

/** One of the best nodes: its id, its final score, and what the score was made from. */
export type StoredScore = readonly [
  nodeId: string,
  score: number,
  /** Absent when the fit alone made the score, which is the usual case. */
  parts?: Readonly<Record<string, number>>,
]

/**
 * What the scheduler saw, without zero values and without what can be worked out: every allocation
 * carries one, and spelled out it would be most of the row.
 */
export interface StoredMetrics extends Partial<Omit<PlacementMetrics, 'Scores' | 'ScoreMetaData'>> {
  readonly Best?: readonly StoredScore[]
}

/** The scorers by the names they have on the wire (scheduling reference §9.3). */
export const SCORERS = {
  /** The one that always applies, whatever the algorithm. */
  fit: 'binpack',
  antiAffinity: 'job-anti-affinity',
  penalty: 'node-reschedule-penalty',
  affinity: 'node-affinity',
  devices: 'devices',
  spread: 'allocation-spread',
  preemption: 'preemption',
} as const

/** Scheduling reference §9.6: shown as zero where they did not apply. */
const UNAPPLIED = {
  [SCORERS.fit]: 0,
  [SCORERS.antiAffinity]: 0,
  [SCORERS.penalty]: 0,
  [SCORERS.affinity]: 0,
}

const NO_METRICS: PlacementMetrics = {
  NodesEvaluated: 0,
  NodesFiltered: 0,
  NodesInPool: 0,
  NodePool: '',
  NodesAvailable: {},
  ClassFiltered: null,
  ConstraintFiltered: null,
  NodesExhausted: 0,
  ClassExhausted: null,
  DimensionExhausted: null,
  QuotaExhausted: null,
  ResourcesExhausted: null,
  Scores: null,
  ScoreMetaData: null,
  AllocationTime: 0,
  CoalescedFailures: 0,
}

/** Spec W: Allocation, `Metrics`; the scores in both forms (choices.md). */
export function metricsView({ Best: best, ...stored }: StoredMetrics): PlacementMetrics {
  const scores = (best ?? []).map(scoreView)
  return {
    ...NO_METRICS,
    ...stored,
    Scores: scores.length === 0 ? null : Object.fromEntries(scores.flatMap(legacyScores)),
    ScoreMetaData: scores.length === 0 ? null : scores,
  }
}

function scoreView([nodeId, score, parts]: StoredScore): NodeScore {
  return {
    NodeID: nodeId,
    Scores: { ...UNAPPLIED, [SCORERS.fit]: score, ...parts },
    NormScore: score,
  }
}

function legacyScores(score: NodeScore): readonly (readonly [string, number])[] {
  const parts = Object.entries(score.Scores).map(
    ([scorer, value]) => [`${score.NodeID}.${scorer}`, value] as const,
  )
  return [...parts, [`${score.NodeID}.normalized-score`, score.NormScore]]
}
