import type { Clock } from '@reeve/kit/clock.ts'

interface CollectionStatus {
  /** Of the authoritative region, up to which everything is copied; 0 before the first round. */
  index: number
  /** When it was last known that the copies are right; undefined before the first round. */
  knownMs: number | undefined
  error: string
  /** What is gone there and still used here, with the reason. */
  readonly kept: Map<string, string>
}

/** How old the copies of what the authoritative region rules may be. */
export class ReplicationStatus {
  readonly #clock: Clock
  readonly #region: string
  #collections = new Map<string, CollectionStatus>()

  constructor(clock: Clock, region: string) {
    this.#clock = clock
    this.#region = region
  }

  /** This server leads: it keeps the copies from now on. */
  begin(names: readonly string[]): void {
    this.#collections = new Map(
      names.map((name) => [name, { index: 0, knownMs: undefined, error: '', kept: new Map() }]),
    )
  }

  end(): void {
    this.#collections.clear()
  }

  /** True when that is news: the first time, or after it failed. */
  answered(name: string, index: number): boolean {
    const status = this.#collections.get(name)
    if (status === undefined) return false
    const isNews = status.index === 0 || status.error !== ''
    Object.assign(status, { index, knownMs: this.#clock.nowMs(), error: '' })
    return isNews
  }

  /** True when that is news: it fails otherwise than before. */
  failed(name: string, error: string): boolean {
    const status = this.#collections.get(name)
    if (status === undefined || status.error === error) return false
    status.error = error
    return true
  }

  kept(name: string, key: string, why: string | undefined): void {
    const kept = this.#collections.get(name)?.kept
    if (why === undefined) kept?.delete(key)
    else kept?.set(key, why)
  }

  /** Whether something is gone there that is still used here. */
  hasKept(name: string): boolean {
    return (this.#collections.get(name)?.kept.size ?? 0) > 0
  }

  /**
   * Milliseconds since the copies were last known to be right; 0 where another server knows.
   * Infinite while a leader has not compared them yet: however long that takes, nobody remembers
   * how old they were when it began.
   */
  get lagMs(): number {
    const nowMs = this.#clock.nowMs()
    const ages = [...this.#collections.values()].map(({ knownMs }) =>
      knownMs === undefined ? Number.POSITIVE_INFINITY : nowMs - knownMs,
    )
    return Math.max(0, ...ages)
  }

  /** As `/v1/agent/self` shows it: texts only. */
  stats(): Readonly<Record<string, string>> {
    const stats: Record<string, string> = { authoritative_region: this.#region }
    if (this.#collections.size === 0) return { ...stats, role: 'the leader of this region copies' }
    const { lagMs } = this
    if (Number.isFinite(lagMs)) stats['lag_ms'] = String(lagMs)
    for (const [name, { index, error, kept }] of this.#collections) {
      stats[`${name}_index`] = String(index)
      if (error !== '') stats[`${name}_error`] = error
      if (kept.size > 0) stats[`${name}_kept`] = [...kept.keys()].toSorted().join(' ')
    }
    return stats
  }
}
