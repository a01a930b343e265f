import type { Affinity, Job, SchedulerAlgorithm, TaskGroup } from '@reeve/contract'
import { operandTest, SCORERS, targetReader, type NodeProperties } from '../../model/index.ts'

/** A score is the mean of its parts: a part that does not apply neither helps nor hurts. */
export type ScoreParts = Readonly<Record<string, number>>

/** The best that a fit can score; scores are divided by it. */
const FIT_MAX = 18

export interface Fractions {
  /**
   * Share of the processor and of the memory that is left once the allocation is placed, 0 to 1.
   */
  readonly freeCpu: number
  readonly freeMemory: number
}

/** Scheduling reference §9.3: full nodes first, or empty ones. */
export function fitScore(
  { freeCpu, freeMemory }: Fractions,
  algorithm: SchedulerAlgorithm,
): number {
  const total = 10 ** freeCpu + 10 ** freeMemory
  const fit = algorithm === 'spread' ? total - 2 : 20 - total
  return Math.min(Math.max(fit, 0), FIT_MAX) / FIT_MAX
}

/** Others of the group on the node count against it, the more the fewer there are in all. */
export function antiAffinityScore(collisions: number, count: number): number {
  return collisions === 0 ? 0 : -(collisions + 1) / Math.max(1, count)
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
  return (node) => weights.reduce((total, weight) => total + weight(node), 0) / Math.max(1, sum)
}

function weightOn(affinity: Affinity): (node: NodeProperties) => number {
  const left = targetReader(affinity.LTarget)
  const right = targetReader(affinity.RTarget)
  const meets = operandTest(affinity.Operand)
  return (node) => (meets(left(node), right(node)) ? affinity.Weight : 0)
}

export interface Applied {
  readonly fit: number
  /** Zero does not apply. */
  readonly antiAffinity: number
  readonly affinity: number | undefined
  readonly penalised: boolean
}

export function meanScore({ fit, antiAffinity, affinity, penalised }: Applied): number {
  const sum = fit + antiAffinity + (affinity ?? 0) - (penalised ? 1 : 0)
  const applied =
    1 + (antiAffinity === 0 ? 0 : 1) + (affinity === undefined ? 0 : 1) + (penalised ? 1 : 0)
  return sum / applied
}

export function scoreParts({ fit, antiAffinity, affinity, penalised }: Applied): ScoreParts {
  return {
    [SCORERS.fit]: rounded(fit),
    ...(antiAffinity === 0 ? {} : { [SCORERS.antiAffinity]: rounded(antiAffinity) }),
    ...(affinity === undefined ? {} : { [SCORERS.affinity]: rounded(affinity) }),
    ...(penalised ? { [SCORERS.penalty]: -1 } : {}),
  }
}

/** Six digits tell any two nodes apart that anybody can tell apart, in a third of the text. */
export function rounded(score: number): number {
  return Math.round(score * 1e6) / 1e6
}
