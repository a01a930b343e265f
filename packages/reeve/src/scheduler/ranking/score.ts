import type { Affinity, Job, SchedulerAlgorithm, TaskGroup } from '@reeve/contract'
import {
  operandTest,
  SCORERS,
  targetReader,
  type NodeProperties,
  type StoredScore,
} from '../../model/index.ts'

/** Score components by scorer name. A score is the mean of the components that apply. */
type ScoresByScorer = Readonly<Record<string, number>>

/** Maximum bin-packing value, used for normalization. */
const BIN_PACK_MAX = 18

/**
 * Resolution of score components. Multiples of it are summed without rounding errors, so the order
 * of nodes does not depend on the order of addition, and the order by sum equals the order by mean.
 */
const SCORE_RESOLUTION = 2 ** 32

export function quantize(value: number): number {
  return Math.round(value * SCORE_RESOLUTION) / SCORE_RESOLUTION
}

interface FreeFractions {
  /** Share of CPU and memory that is free after the placement, 0 to 1. */
  readonly freeCpu: number
  readonly freeMemory: number
}

/** Bin-packing score: prefers full nodes, or empty ones with the spread algorithm. */
export function binPackScore(
  { freeCpu, freeMemory }: FreeFractions,
  algorithm: SchedulerAlgorithm,
): number {
  const total = pow10(freeCpu) + pow10(freeMemory)
  const fit = algorithm === 'spread' ? total - 2 : 20 - total
  return quantize(Math.min(Math.max(fit, 0), BIN_PACK_MAX) / BIN_PACK_MAX)
}

const POWER_STEPS = 1_024
const POWER_TABLE = Float64Array.from(
  { length: POWER_STEPS + 1 },
  (_, step) => 10 ** (step / POWER_STEPS),
)

/**
 * Computes 10 ** power for powers from 0 to 1, from a table and a series, exact to eleven digits.
 * Scoring nodes is most of the work of an evaluation.
 */
export function pow10(power: number): number {
  const clamped = power <= 0 ? 0 : power >= 1 ? 1 : power
  const step = Math.floor(clamped * POWER_STEPS)
  const remainder = (clamped - step / POWER_STEPS) * Math.LN10
  return (POWER_TABLE[step] ?? 1) * (1 + remainder * (1 + remainder * (0.5 + remainder / 6)))
}

/** Penalty for other allocations of the group on the node, relative to the count. */
export function antiAffinityScore(collisions: number, count: number): number {
  return collisions === 0 ? 0 : quantize(-(collisions + 1) / Math.max(1, count))
}

/** Returns a scorer for the affinities of a job, from −1 to 1; undefined if there are none. */
export function affinityScorer(
  job: Job,
  group: TaskGroup,
): ((node: NodeProperties) => number) | undefined {
  const affinities = [
    ...(job.Affinities ?? []),
    ...(group.Affinities ?? []),
    ...group.Tasks.flatMap((task) => task.Affinities ?? []),
  ]
  if (affinities.length === 0) return undefined
  const sum = affinities.reduce((total, affinity) => total + Math.abs(affinity.Weight), 0)
  const weights = affinities.map(affinityWeight)
  return (node) =>
    quantize(weights.reduce((total, weight) => total + weight(node), 0) / Math.max(1, sum))
}

function affinityWeight(affinity: Affinity): (node: NodeProperties) => number {
  const left = targetReader(affinity.LTarget)
  const right = targetReader(affinity.RTarget)
  const meets = operandTest(affinity.Operand)
  return (node) => (meets(left(node), right(node)) ? affinity.Weight : 0)
}

/** Score of a preemption, nearer to 1 for fewer victims of lower priority. */
export function preemptionScore(victimPriorities: readonly number[]): number {
  const highest = Math.max(1, ...victimPriorities)
  const net = highest + victimPriorities.reduce((sum, priority) => sum + priority, 0) / highest
  return quantize(1 / (1 + Math.exp(0.0048 * (net - 2_048))))
}

export interface ScoreComponents {
  readonly fit: number
  readonly devices?: number | undefined
  /** Zero: does not apply. */
  readonly antiAffinity: number
  readonly affinity: number | undefined
  readonly isPenalised: boolean
  /** Zero: does not apply. */
  readonly spread?: number
  readonly preemption?: number | undefined
}

export function meanScore(components: ScoreComponents): number {
  const { fit, devices, antiAffinity, affinity, isPenalised, spread = 0, preemption } = components
  const sum =
    fit +
    (devices ?? 0) +
    antiAffinity +
    (affinity ?? 0) -
    (isPenalised ? 1 : 0) +
    spread +
    (preemption ?? 0)
  const count =
    1 +
    (devices === undefined ? 0 : 1) +
    (antiAffinity === 0 ? 0 : 1) +
    (affinity === undefined ? 0 : 1) +
    (isPenalised ? 1 : 0) +
    (spread === 0 ? 0 : 1) +
    (preemption === undefined ? 0 : 1)
  return sum / count
}

/** Components that apply, by their names in the API. */
export function scoresByScorer(components: ScoreComponents): ScoresByScorer {
  const { fit, devices, antiAffinity, affinity, isPenalised, spread = 0, preemption } = components
  const scores: Record<string, number> = { [SCORERS.fit]: roundScore(fit) }
  if (devices !== undefined) scores[SCORERS.devices] = roundScore(devices)
  if (antiAffinity !== 0) scores[SCORERS.antiAffinity] = roundScore(antiAffinity)
  if (affinity !== undefined) scores[SCORERS.affinity] = roundScore(affinity)
  if (isPenalised) scores[SCORERS.penalty] = -1
  if (spread !== 0) scores[SCORERS.spread] = roundScore(spread)
  if (preemption !== undefined) scores[SCORERS.preemption] = roundScore(preemption)
  return scores
}

/** Score of a node in the format stored with an allocation. */
export function storedScore(
  nodeId: string,
  score: number,
  components: ScoreComponents,
): StoredScore {
  const total = roundScore(score)
  return hasOnlyFit(components) ? [nodeId, total] : [nodeId, total, scoresByScorer(components)]
}

function hasOnlyFit(components: ScoreComponents): boolean {
  const { devices, antiAffinity, affinity, isPenalised, spread = 0, preemption } = components
  if (devices !== undefined || affinity !== undefined || preemption !== undefined) return false
  return antiAffinity === 0 && spread === 0 && !isPenalised
}

/** Rounds to six digits, which distinguish nodes well enough and take a third of the space. */
export function roundScore(score: number): number {
  return Math.round(score * 1e6) / 1e6
}
