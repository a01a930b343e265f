import type { NodeScore, PlacementMetrics } from '@reeve/contract'

/** One of the best nodes: ID, final score, and the parts of the score. */
export type StoredScore = readonly [
  nodeId: string,
  score: number,
  /** Absent if the score consists of the fit alone, as is usual. */
  parts?: Readonly<Record<string, number>>,
]

/**
 * Placement metrics without zero and derived values: every allocation has them, and in full they
 * would be most of the row.
 */
export interface StoredMetrics extends Partial<Omit<PlacementMetrics, 'Scores' | 'ScoreMetaData'>> {
  /** Text of `encodeTopScores`; a list in rows of earlier versions. `decodeTopScores` reads both. */
  readonly Best?: string | readonly StoredScore[]
}

/**
 * Encodes the best nodes as one text: `<node> <score>[ <scorer> <part>]…`, separated by commas. A
 * list would be sixteen objects to retain, copy and collect with each of a million rows.
 */
export function encodeTopScores(
  topScores: readonly StoredScore[],
): string | readonly StoredScore[] {
  let text = ''
  for (const [nodeId, score, components] of topScores) {
    if (nodeId.includes(' ') || nodeId.includes(',')) return topScores
    text += `${text === '' ? '' : ','}${nodeId} ${score}`
    if (components === undefined) continue
    for (const [scorer, value] of Object.entries(components)) text += ` ${scorer} ${value}`
  }
  return text
}

/** Returns the best nodes, best first. */
export function decodeTopScores({ Best: topScores = [] }: StoredMetrics): readonly StoredScore[] {
  if (typeof topScores !== 'string') return topScores
  return topScores === '' ? [] : topScores.split(',').map(parseScore)
}

function parseScore(text: string): StoredScore {
  const [nodeId = '', score = '', ...rest] = text.split(' ')
  if (rest.length === 0) return [nodeId, Number(score)]
  const components: Record<string, number> = {}
  for (let index = 0; index < rest.length; index += 2)
    components[rest[index] ?? ''] = Number(rest[index + 1])
  return [nodeId, Number(score), components]
}

/** Scorers by their names in the API. */
export const SCORERS = {
  /** The scorer that always applies, with any algorithm. */
  fit: 'binpack',
  antiAffinity: 'job-anti-affinity',
  penalty: 'node-reschedule-penalty',
  affinity: 'node-affinity',
  devices: 'devices',
  spread: 'allocation-spread',
  preemption: 'preemption',
} as const

/** Scorers shown as zero if they did not apply. */
const ZERO_SCORES = {
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

/** Returns the metrics with the scores in both formats. */
export function expandMetrics(metrics: StoredMetrics): PlacementMetrics {
  const { Best: _best, ...stored } = metrics
  const scores = decodeTopScores(metrics).map(toNodeScore)
  return {
    ...NO_METRICS,
    ...stored,
    Scores: scores.length === 0 ? null : Object.fromEntries(scores.flatMap(legacyScores)),
    ScoreMetaData: scores.length === 0 ? null : scores,
  }
}

function toNodeScore([nodeId, score, parts]: StoredScore): NodeScore {
  return {
    NodeID: nodeId,
    Scores: { ...ZERO_SCORES, [SCORERS.fit]: score, ...parts },
    NormScore: score,
  }
}

function legacyScores(score: NodeScore): readonly (readonly [string, number])[] {
  const entries = Object.entries(score.Scores).map(
    ([scorer, value]) => [`${score.NodeID}.${scorer}`, value] as const,
  )
  return [...entries, [`${score.NodeID}.normalized-score`, score.NormScore]]
}
