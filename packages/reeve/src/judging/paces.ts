import { LruCache } from '@reeve/kit/lru-cache.ts'

/** An evaluation above this delays others too much. */
const SLOW_MS = 100
/**
 * Weight of the newest sample in the moving average; one cold start does not mark a policy as slow.
 */
const NEWEST_WEIGHT = 1 / 4
/** Averages below this are dropped. */
const NEGLIGIBLE_MS = 10
/** Number of cached averages. */
const LATENCIES_MAX = 1_000

/** Moving average of evaluation durations by key. */
export class LatencyTracker {
  readonly #averages = new LruCache<string, number>({ weightMax: LATENCIES_MAX })

  averageMs(key: string): number {
    return this.#averages.get(key) ?? 0
  }

  isSlow(key: string): boolean {
    return this.averageMs(key) > SLOW_MS
  }

  record(key: string, ms: number): void {
    const before = this.averageMs(key)
    const average = before + (ms - before) * NEWEST_WEIGHT
    this.#averages.delete(key)
    if (average < NEGLIGIBLE_MS) return
    this.#averages.set(key, average)
  }
}
