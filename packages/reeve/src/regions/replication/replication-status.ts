import type { Clock } from '@reeve/kit/clock.ts'

interface TableStatus {
  /**
   * Index of the authoritative region up to which everything is copied; 0 before the first sync.
   */
  index: number
  /** Time at which the copies were last confirmed; undefined before the first sync. */
  confirmedMs: number | undefined
  error: string
  /** Records that were deleted there but are still in use here, with the reason. */
  readonly undeletable: Map<string, string>
}

/** Age and errors of the copies of the authoritative region's records. */
export class ReplicationStatus {
  readonly #clock: Clock
  readonly #region: string
  #tables = new Map<string, TableStatus>()

  constructor(clock: Clock, region: string) {
    this.#clock = clock
    this.#region = region
  }

  /** Called when this server becomes the leader and so replicates. */
  begin(names: readonly string[]): void {
    this.#tables = new Map(
      names.map((name) => [
        name,
        { index: 0, confirmedMs: undefined, error: '', undeletable: new Map() },
      ]),
    )
  }

  end(): void {
    this.#tables.clear()
  }

  /**
   * Records a success. Returns true if it should be logged: the first one, or one after a failure.
   */
  recordSuccess(name: string, index: number): boolean {
    const status = this.#tables.get(name)
    if (status === undefined) return false
    const isNoteworthy = status.index === 0 || status.error !== ''
    Object.assign(status, { index, knownMs: this.#clock.nowMs(), error: '' })
    return isNoteworthy
  }

  /** Records a failure. Returns true if it should be logged: its text differs from the last one. */
  recordFailure(name: string, error: string): boolean {
    const status = this.#tables.get(name)
    if (status === undefined || status.error === error) return false
    status.error = error
    return true
  }

  recordUndeletable(name: string, key: string, why: string | undefined): void {
    const undeletable = this.#tables.get(name)?.undeletable
    if (why === undefined) undeletable?.delete(key)
    else undeletable?.set(key, why)
  }

  /** Reports whether a record that was deleted there is still in use here. */
  hasUndeletable(name: string): boolean {
    return (this.#tables.get(name)?.undeletable.size ?? 0) > 0
  }

  /**
   * Milliseconds since the copies were last confirmed; 0 on servers that do not lead. Infinite
   * until a new leader has compared them: their age is unknown until then.
   */
  get lagMs(): number {
    const nowMs = this.#clock.nowMs()
    const ages = [...this.#tables.values()].map(({ confirmedMs }) =>
      confirmedMs === undefined ? Number.POSITIVE_INFINITY : nowMs - confirmedMs,
    )
    return Math.max(0, ...ages)
  }

  /** Statistics for `/v1/agent/self`: strings only. */
  stats(): Readonly<Record<string, string>> {
    const stats: Record<string, string> = { authoritative_region: this.#region }
    if (this.#tables.size === 0) return { ...stats, role: 'the leader of this region copies' }
    const { lagMs } = this
    if (Number.isFinite(lagMs)) stats['lag_ms'] = String(lagMs)
    for (const [name, { index, error, undeletable }] of this.#tables) {
      stats[`${name}_index`] = String(index)
      if (error !== '') stats[`${name}_error`] = error
      if (undeletable.size > 0) stats[`${name}_kept`] = [...undeletable.keys()].toSorted().join(' ')
    }
    return stats
  }
}
