import type { MetricSample } from '@reeve/contract'

/** Samples are summed up over intervals of this length. */
const INTERVAL_MS = 10_000

interface Tally {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  count: number
  sum: number
  sumOfSquares: number
  min: number
  max: number
}

/** One of the things that are measured. */
export interface SampleSeries {
  add(value: number, nowMs: number): void
}

/**
 * Measurements of the current interval. A question is answered with the last whole one, if there is
 * one.
 */
export class IntervalSamples {
  #startMs: number
  #current: Tally[] = []
  #previous: { readonly startMs: number; readonly tallies: readonly Tally[] } | undefined

  constructor(nowMs: number) {
    this.#startMs = nowMs
  }

  /** Made once for each name and labels. */
  series(name: string, labels: Tally['labels']): SampleSeries {
    let tally: Tally | undefined
    let interval: readonly Tally[] | undefined
    return {
      add: (value, nowMs) => {
        this.#roll(nowMs)
        if (tally === undefined || interval !== this.#current) {
          tally = { name, labels, count: 0, sum: 0, sumOfSquares: 0, min: value, max: value }
          interval = this.#current
          this.#current.push(tally)
        }
        tally.count++
        tally.sum += value
        tally.sumOfSquares += value * value
        if (value < tally.min) tally.min = value
        if (value > tally.max) tally.max = value
      },
    }
  }

  read(nowMs: number): { readonly startMs: number; readonly samples: readonly MetricSample[] } {
    this.#roll(nowMs)
    const interval = this.#previous ?? {
      startMs: this.#startMs,
      tallies: this.#current,
    }
    return { startMs: interval.startMs, samples: interval.tallies.map(toSample) }
  }

  #roll(nowMs: number): void {
    if (nowMs - this.#startMs < INTERVAL_MS) return
    this.#previous = { startMs: this.#startMs, tallies: this.#current }
    this.#current = []
    this.#startMs = nowMs
  }
}

function toSample(tally: Tally): MetricSample {
  const mean = tally.sum / tally.count
  const variance = Math.max(0, tally.sumOfSquares / tally.count - mean * mean)
  return {
    Name: tally.name,
    Count: tally.count,
    Rate: tally.sum / (INTERVAL_MS / 1000),
    Sum: tally.sum,
    Min: tally.min,
    Max: tally.max,
    Mean: mean,
    Stddev: Math.sqrt(variance),
    Labels: tally.labels,
  }
}
