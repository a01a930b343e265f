import type { MetricSample } from '@reeve/contract'

/** Length of the intervals over which samples are aggregated. */
const INTERVAL_MS = 10_000

interface SampleStats {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  count: number
  sum: number
  sumOfSquares: number
  min: number
  max: number
}

/** The samples of one name and set of labels. */
export interface SampleSeries {
  add(value: number, nowMs: number): void
}

/** Samples of the current interval. Reads return the last complete interval, if there is one. */
export class IntervalSamples {
  #startMs: number
  #current: SampleStats[] = []
  #previous: { readonly startMs: number; readonly tallies: readonly SampleStats[] } | undefined

  constructor(nowMs: number) {
    this.#startMs = nowMs
  }

  /** Returns the series of a name and labels; to be called once for each. */
  series(name: string, labels: SampleStats['labels']): SampleSeries {
    let tally: SampleStats | undefined
    let interval: readonly SampleStats[] | undefined
    return {
      add: (value, nowMs) => {
        this.#startIntervalIfDue(nowMs)
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
    this.#startIntervalIfDue(nowMs)
    const interval = this.#previous ?? {
      startMs: this.#startMs,
      tallies: this.#current,
    }
    return { startMs: interval.startMs, samples: interval.tallies.map(toSample) }
  }

  #startIntervalIfDue(nowMs: number): void {
    if (nowMs - this.#startMs < INTERVAL_MS) return
    this.#previous = { startMs: this.#startMs, tallies: this.#current }
    this.#current = []
    this.#startMs = nowMs
  }
}

function toSample(tally: SampleStats): MetricSample {
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
