import { setImmediate as othersTurn } from 'node:timers/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import type { EnginePosition, LogEntry, Store } from '../state/index.ts'
import type { LeaseFound, LeaseStore } from './lease-store.ts'
import type { Listening, LogBell, Rung } from './log-bell.ts'
import {
  compareWithLog,
  LOG_DIVERGED,
  type EntryId,
  type LogEnd,
  type LogHistory,
} from './log-history.ts'

/** How often the log is looked at by a follower that nobody wakes. */
const LOOK_MS = 100
/** The same where a bell wakes it: the lease is looked at, and what the bell forgot. */
const RUNG_LOOK_MS = 500
/** Between two looks that a bell asked for: a busy leader rings a thousand times a second. */
const GAP_MS = 20
/** Entries that are applied before others get their turn. */
const ENTRIES_PER_TURN = 200

/** An engine that shows what another server writes. */
export interface FollowedEngine {
  /** Looks how far the log has come, and at its entry where `applied` is; `read` reaches there. */
  follow(applied: EntryId): Promise<FollowedLog>
  /** Entries that follow the one after which they are asked for. */
  read(fromIndex: number, after: EntryId): AsyncIterable<FollowedEntry>
}

export interface FollowedLog extends EnginePosition, LogEnd {
  /** Changes when a loss of commits is recorded or accepted. */
  readonly losses: string
}

/** An entry, and which append wrote it. */
export interface FollowedEntry extends LogEntry, EntryId {}

export interface FollowLoopOptions {
  readonly engine: FollowedEngine
  readonly store: Store
  /** The entries that the store has applied; it ends with the last of them. */
  readonly history: LogHistory
  readonly lease: LeaseStore
  /** Wakes it when another writes. */
  readonly bell?: LogBell
  readonly clock: Clock
  /** A clock that never jumps. */
  readonly monotonicMs: () => number
  /** The state is as of this moment of that clock, or newer; now, when it is not said. */
  readonly seenMs?: number
  /** The log could not be read or applied. */
  readonly failed: (thrown: unknown) => void
  /** It could, to its end. */
  readonly followed?: (log: FollowedLog) => void
  /**
   * Called after each look and during long ones, with `host:port` of whoever leads; empty when
   * nobody does.
   */
  readonly looked: (leader: string) => void
}

/** Keeps a follower's state at the end of the leader's log. */
export class FollowLoop {
  readonly #options: FollowLoopOptions
  #running: Promise<void> = Promise.resolve()
  #cancel: () => void = () => undefined
  #cancelTelling: () => void = () => undefined
  #isStopped = false
  #listening: Listening | undefined
  #isLooking = false
  /** What rang since the last look began. */
  #rung: Rung | undefined
  #askedMs = 0
  #endedMs = 0
  #seenMs: number
  #leader: LeaseFound = { term: 0, holder: '', address: '', leftMs: 0 }
  /** When the lease was asked for that `#leader` is from. */
  #leaderMs = 0

  constructor(options: FollowLoopOptions) {
    this.#options = options
    this.#seenMs = options.seenMs ?? options.monotonicMs()
  }

  /** Who led when the lease was looked at last. */
  get leader(): LeaseFound {
    const agedMs = this.#options.monotonicMs() - this.#leaderMs
    return agedMs < this.#leader.leftMs ? this.#leader : { ...this.#leader, address: '', leftMs: 0 }
  }

  /** Since the log was last seen to its end, with somebody to write it. */
  get lastContactMs(): number {
    return Math.max(0, Math.round(this.#options.monotonicMs() - this.#seenMs))
  }

  start(): void {
    this.#listening = this.#options.bell?.listen((rung) => this.#hear(rung))
    this.#begin()
    this.#tellLater()
  }

  /**
   * A look at the log may take long: the database is away, or slow, or the table is locked. A lease
   * is over, or renewed, long before that.
   */
  #tellLater(): void {
    this.#cancelTelling = this.#options.clock.after(RUNG_LOOK_MS, () => {
      this.#tellLater()
      if (!this.#isLooking) return
      this.#options.looked(this.leader.address)
      // What fails here fails the look at the log too.
      this.#findLeader().then(
        () => this.#options.looked(this.leader.address),
        () => undefined,
      )
    })
  }

  async #findLeader(): Promise<LeaseFound> {
    const askedMs = this.#options.monotonicMs()
    const leader = await this.#options.lease.find()
    // Another question may have been answered meanwhile.
    if (askedMs >= this.#leaderMs) {
      this.#leader = leader
      this.#leaderMs = askedMs
    }
    return leader
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    this.#cancelTelling()
    this.#listening?.stop()
    await this.#running
  }

  #hear(rung: Rung): void {
    if (this.#rung !== 'lease') this.#rung = rung
    if (!this.#isLooking) this.#arm()
  }

  #arm(): void {
    if (this.#isStopped) return
    this.#cancel()
    this.#cancel = this.#options.clock.after(this.#delayMs(), () => this.#begin())
  }

  #delayMs(): number {
    if (this.#rung === undefined) return this.#listening?.canHear === true ? RUNG_LOOK_MS : LOOK_MS
    return Math.max(0, this.#endedMs + GAP_MS - this.#options.monotonicMs())
  }

  /** However much is appended, the lease is looked at as often as when nothing is. */
  #begin(): void {
    const { monotonicMs } = this.#options
    const isLogOnly = this.#rung === 'log' && monotonicMs() - this.#askedMs < RUNG_LOOK_MS
    this.#rung = undefined
    this.#isLooking = true
    this.#running = (isLogOnly ? this.#lookAtLog() : this.#look()).finally(() => {
      this.#isLooking = false
      this.#endedMs = monotonicMs()
      this.#arm()
    })
  }

  async #lookAtLog(): Promise<void> {
    const { followed, failed } = this.#options
    await this.catchUp().then(followed, failed)
  }

  async #look(): Promise<void> {
    const { monotonicMs, failed, followed } = this.#options
    const askedMs = monotonicMs()
    this.#askedMs = askedMs
    try {
      const leader = await this.#findLeader()
      const log = await this.catchUp()
      if (leader.leftMs > 0) this.#seenMs = askedMs
      followed?.(log)
    } catch (thrown) {
      failed(thrown)
    }
    this.#options.looked(this.leader.address)
  }

  /**
   * Applies the log to its end as of now. Rejects with `log-diverged` when it is not the log that
   * the state comes from.
   */
  async catchUp(): Promise<FollowedLog> {
    const { engine, store, history } = this.#options
    const applied = history.last
    assert(applied.index === store.index, 'a follower remembers what it has applied')
    const log = await engine.follow(applied)
    const { lastIndex, firstIndex } = log
    this.#assertSame(applied, log)
    if (lastIndex === store.index) return log
    let entries: FollowedEntry[] = []
    for await (const entry of engine.read(store.index + 1, applied)) {
      if (entry.index > lastIndex) break
      entries.push(entry)
      if (entries.length < ENTRIES_PER_TURN) continue
      this.#apply(entries)
      entries = []
      await othersTurn()
    }
    if (entries.length > 0) this.#apply(entries)
    store.log.trimmed(firstIndex)
    return log
  }

  #assertSame(applied: EntryId, log: LogEnd): void {
    const comparison = compareWithLog(applied, log)
    if (comparison === 'diverged')
      throw new Fault(
        LOG_DIVERGED,
        `the database does not hold log entry ${applied.index} as this server has applied it: it ` +
          'has lost commits, or was restored to an earlier time',
      )
    // Cut off for so long that the leader has trimmed the entries that come next.
    if (comparison === 'behind')
      throw new Fault('follower-behind', 'the log begins after what this server has seen of it')
  }

  #apply(entries: readonly FollowedEntry[]): void {
    this.#options.store.follow(entries)
    for (const { index, term, nonce } of entries) this.#options.history.add({ index, term, nonce })
  }
}
