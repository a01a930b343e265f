import type { MetricSample } from '@reeve/contract'

/** Reference §8.8: samples are summed up over intervals of this length. */
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

/**
 * Measurements of the current interval. A question is answered with the last whole one, if there is
 * one.
 */
export class IntervalSamples {
  #startMs: number
  #current = new Map<string, Tally>()
  #previous: { readonly startMs: number; readonly tallies: readonly Tally[] } | undefined

  constructor(nowMs: number) {
    this.#startMs = nowMs
  }

  add(
    sample: Pick<Tally, 'name' | 'labels'> & { readonly value: number; readonly nowMs: number },
  ): void {
    this.#roll(sample.nowMs)
    const { name, labels, value } = sample
    const key = `${name}\n${Object.values(labels).join('\n')}`
    const tally = this.#current.get(key)
    if (tally === undefined) {
      const first = { count: 1, sum: value, sumOfSquares: value * value, min: value, max: value }
      this.#current.set(key, { name, labels, ...first })
      return
    }
    tally.count++
    tally.sum += value
    tally.sumOfSquares += value * value
    tally.min = Math.min(tally.min, value)
    tally.max = Math.max(tally.max, value)
  }

  read(nowMs: number): { readonly startMs: number; readonly samples: readonly MetricSample[] } {
    this.#roll(nowMs)
    const interval = this.#previous ?? {
      startMs: this.#startMs,
      tallies: [...this.#current.values()],
    }
    return { startMs: interval.startMs, samples: interval.tallies.map(toSample) }
  }

  #roll(nowMs: number): void {
    if (nowMs - this.#startMs < INTERVAL_MS) return
    this.#previous = { startMs: this.#startMs, tallies: [...this.#current.values()] }
    this.#current = new Map()
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
