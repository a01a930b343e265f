import { LruCache } from '@reeve/kit/lru-cache.ts'

/** An evaluation above this delays others too much. */
const SLOW_MS = 100
/**
 * Weight of the newest sample in the moving average; one cold start does not mark a policy as slow.
 */
const NEWEST_SHARE = 1 / 4
/** Averages below this are dropped. */
const FORGET_MS = 10
/** Paces that are cached. */
const PACES_MAX = 1_000

/** Moving average of evaluation durations by key. */
export class Paces {
  readonly #msOf = new LruCache<string, number>({ weightMax: PACES_MAX })

  msOf(key: string): number {
    return this.#msOf.get(key) ?? 0
  }

  isSlow(key: string): boolean {
    return this.msOf(key) > SLOW_MS
  }

  measure(key: string, ms: number): void {
    const before = this.msOf(key)
    const pace = before + (ms - before) * NEWEST_SHARE
    this.#msOf.delete(key)
    if (pace < FORGET_MS) return
    this.#msOf.set(key, pace)
  }
}
