import { LruCache } from '@reeve/kit/lru-cache.ts'

/** A question that takes longer holds up others more than it may. */
const SLOW_MS = 100
/** Of the pace, how much the newest answer is; one cold start alone makes nobody slow. */
const NEWEST_SHARE = 1 / 4
/** A pace below this is as good as none. */
const FORGET_MS = 10
/** Paces that are cached. */
const PACES_MAX = 1_000

/** How long what was asked before took: a mean in which each answer weighs less than the next. */
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
