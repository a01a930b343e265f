import type { Affinity, Job, SchedulerAlgorithm, TaskGroup } from '@reeve/contract'
import {
  operandTest,
  SCORERS,
  targetReader,
  type NodeProperties,
  type StoredScore,
} from '../../model/index.ts'

/** A score is the mean of its parts: a part that does not apply neither helps nor hurts. */
export type ScoreParts = Readonly<Record<string, number>>

/** The best that a fit can score; scores are divided by it. */
const FIT_MAX = 18

/**
 * Parts of scores are multiples of this, so that their sums are exact: nodes then have one order
 * whichever way their parts are added, and an order by sums is an order by means.
 */
const GRID = 2 ** 32

export function onGrid(part: number): number {
  return Math.round(part * GRID) / GRID
}

export interface Fractions {
  /**
   * Share of the processor and of the memory that is left once the allocation is placed, 0 to 1.
   */
  readonly freeCpu: number
  readonly freeMemory: number
}

/** Full nodes first, or empty ones. */
export function fitScore(
  { freeCpu, freeMemory }: Fractions,
  algorithm: SchedulerAlgorithm,
): number {
  const total = tenToThe(freeCpu) + tenToThe(freeMemory)
  const fit = algorithm === 'spread' ? total - 2 : 20 - total
  return onGrid(Math.min(Math.max(fit, 0), FIT_MAX) / FIT_MAX)
}

const STEPS = 1_024
const POWERS = Float64Array.from({ length: STEPS + 1 }, (_, step) => 10 ** (step / STEPS))

/**
 * 10 to a power of 0 to 1: the nearest step below from a table, the rest by its series, exact to
 * eleven digits. Every node is scored, so this is most of what an evaluation computes.
 */
export function tenToThe(power: number): number {
  const within = power <= 0 ? 0 : power >= 1 ? 1 : power
  const step = Math.floor(within * STEPS)
  const rest = (within - step / STEPS) * Math.LN10
  return (POWERS[step] ?? 1) * (1 + rest * (1 + rest * (0.5 + rest / 6)))
}

/** Others of the group on the node count against it, the more the fewer there are in all. */
export function antiAffinityScore(collisions: number, count: number): number {
  return collisions === 0 ? 0 : onGrid(-(collisions + 1) / Math.max(1, count))
}

/** How far a node meets the affinities of a job, −1 to 1; undefined when there are none. */
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
  const weights = affinities.map(weightOn)
  return (node) =>
    onGrid(weights.reduce((total, weight) => total + weight(node), 0) / Math.max(1, sum))
}

function weightOn(affinity: Affinity): (node: NodeProperties) => number {
  const left = targetReader(affinity.LTarget)
  const right = targetReader(affinity.RTarget)
  const meets = operandTest(affinity.Operand)
  return (node) => (meets(left(node), right(node)) ? affinity.Weight : 0)
}

/** The fewer and the less important the victims, the nearer to 1. */
export function preemptionScore(victimPriorities: readonly number[]): number {
  const highest = Math.max(1, ...victimPriorities)
  const net = highest + victimPriorities.reduce((sum, priority) => sum + priority, 0) / highest
  return onGrid(1 / (1 + Math.exp(0.0048 * (net - 2_048))))
}

export interface Applied {
  readonly fit: number
  readonly devices?: number | undefined
  /** Zero does not apply. */
  readonly antiAffinity: number
  readonly affinity: number | undefined
  readonly penalised: boolean
  /** Zero does not apply. */
  readonly spread?: number
  readonly preemption?: number | undefined
}

export function meanScore(applied: Applied): number {
  const { fit, devices, antiAffinity, affinity, penalised, spread = 0, preemption } = applied
  const sum =
    fit +
    (devices ?? 0) +
    antiAffinity +
    (affinity ?? 0) -
    (penalised ? 1 : 0) +
    spread +
    (preemption ?? 0)
  const count =
    1 +
    (devices === undefined ? 0 : 1) +
    (antiAffinity === 0 ? 0 : 1) +
    (affinity === undefined ? 0 : 1) +
    (penalised ? 1 : 0) +
    (spread === 0 ? 0 : 1) +
    (preemption === undefined ? 0 : 1)
  return sum / count
}

/** The parts that apply, by the names they have on the wire. */
export function scoreParts(applied: Applied): ScoreParts {
  const { fit, devices, antiAffinity, affinity, penalised, spread = 0, preemption } = applied
  const parts: Record<string, number> = { [SCORERS.fit]: rounded(fit) }
  if (devices !== undefined) parts[SCORERS.devices] = rounded(devices)
  if (antiAffinity !== 0) parts[SCORERS.antiAffinity] = rounded(antiAffinity)
  if (affinity !== undefined) parts[SCORERS.affinity] = rounded(affinity)
  if (penalised) parts[SCORERS.penalty] = -1
  if (spread !== 0) parts[SCORERS.spread] = rounded(spread)
  if (preemption !== undefined) parts[SCORERS.preemption] = rounded(preemption)
  return parts
}

/** A node's score as a stored allocation remembers it. */
export function storedScore(nodeId: string, score: number, applied: Applied): StoredScore {
  const total = rounded(score)
  return isFitAlone(applied) ? [nodeId, total] : [nodeId, total, scoreParts(applied)]
}

function isFitAlone(applied: Applied): boolean {
  const { devices, antiAffinity, affinity, penalised, spread = 0, preemption } = applied
  if (devices !== undefined || affinity !== undefined || preemption !== undefined) return false
  return antiAffinity === 0 && spread === 0 && !penalised
}

/** Six digits tell any two nodes apart that anybody can tell apart, in a third of the text. */
export function rounded(score: number): number {
  return Math.round(score * 1e6) / 1e6
}
