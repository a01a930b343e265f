import type { ProofExperiment } from './experiments.ts'

/** An experiment and the time that it gets. */
export interface PlannedExperiment {
  readonly experiment: ProofExperiment
  readonly totalMs: number
  /** The `--minutes` of its script, without what it needs to start and to settle. */
  readonly minutes: number
}

/**
 * Shares the time by weight. An experiment whose share would be below its minimum gets the minimum,
 * and the others share what is left; so a very short run takes longer than it was given.
 */
export function planTime(
  totalMs: number,
  experiments: readonly ProofExperiment[],
): readonly PlannedExperiment[] {
  const minimumOnly = new Set<ProofExperiment>()
  for (;;) {
    const perWeightMs = restPerWeight(totalMs, experiments, minimumOnly)
    const short = experiments.filter(
      (one) => !minimumOnly.has(one) && one.weight * perWeightMs < minimumMs(one),
    )
    if (short.length === 0)
      return experiments.map((one) =>
        planExperiment(one, minimumOnly.has(one) ? minimumMs(one) : one.weight * perWeightMs),
      )
    for (const one of short) minimumOnly.add(one)
  }
}

function restPerWeight(
  totalMs: number,
  experiments: readonly ProofExperiment[],
  minimumOnly: ReadonlySet<ProofExperiment>,
): number {
  let [restMs, weights] = [totalMs, 0]
  for (const one of experiments)
    if (minimumOnly.has(one)) restMs -= minimumMs(one)
    else weights += one.weight
  return weights === 0 ? 0 : Math.max(0, restMs) / weights
}

function minimumMs({ secondsMin }: ProofExperiment): number {
  return secondsMin * 1_000
}

const MINUTE_MS = 60_000
/** However long it takes to start, something has to happen. */
const WORK_SECONDS_MIN = 3

function planExperiment(experiment: ProofExperiment, shareMs: number): PlannedExperiment {
  const totalMs = Math.round(shareMs)
  const workMs = Math.max(
    totalMs - experiment.setUpSeconds * 1_000,
    Math.min(totalMs, WORK_SECONDS_MIN * 1_000),
  )
  // As text it is part of a command.
  const minutes = Number((workMs / MINUTE_MS).toFixed(3))
  return { experiment, totalMs, minutes }
}
