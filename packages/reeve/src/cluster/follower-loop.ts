import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import type { EnginePosition, LogEntry, Store } from '../state/index.ts'
import type { LeaseStatus, LeaseStore } from './lease.ts'
import {
  compareWithLog,
  LOG_DIVERGED,
  type EntryId,
  type LogEnd,
  type LogHistory,
} from './log-history.ts'

/** Poll interval without change notifications. */
const POLL_MS = 100
/** Poll interval while notifications arrive: catches lost ones and re-reads the lease. */
const NOTIFIED_POLL_MS = 500
/**
 * Minimum time between two polls that notifications cause: a busy leader sends a thousand a second.
 */
const DEBOUNCE_MS = 20
/** Entries applied before yielding to the event loop. */
const ENTRIES_PER_TICK = 200

/** A storage engine whose log another server writes. */
interface FollowableEngine {
  /**
   * Returns the end of the log, and its entry at the index of `applied`. `read` reads up to there.
   */
  refresh(applied: EntryId): Promise<FollowedLog>
  /** Reads the entries after the entry `after`. */
  read(fromIndex: number, after: EntryId): AsyncIterable<FollowedEntry>
}

export interface FollowedLog extends EnginePosition, LogEnd {
  /** Version that changes when a loss of commits is recorded or accepted. */
  readonly losses: string
}

/** An entry with the append that wrote it. */
export interface FollowedEntry extends LogEntry, EntryId {}

interface FollowerLoopOptions {
  readonly engine: FollowableEngine
  readonly store: Store
  /** Ids of the entries that the store has applied, up to the last one. */
  readonly history: LogHistory
  readonly lease: LeaseStore
  /** Wakes the loop when another server writes. */
  readonly notifier?: ChangeNotifier
  readonly clock: Clock
  /** A clock that never jumps. */
  readonly monotonicMs: () => number
  /** Time by that clock as of which the state is current; by default now. */
  readonly currentAsOfMs?: number
  /** Called when the log could not be read or applied. */
  readonly onError: (thrown: unknown) => void
  /** Called when the log was applied to its end. */
  readonly onCaughtUp?: (log: FollowedLog) => void
  /**
   * Called after each poll and during long ones, with the leader's `host:port`; empty without a
   * leader.
   */
  readonly onLeader: (leader: string) => void
}

/** Keeps a follower's state at the end of the leader's log. */
export class FollowerLoop {
  readonly #options: FollowerLoopOptions
  #running: Promise<void> = Promise.resolve()
  #cancel: () => void = () => undefined
  #cancelLeaderReport: () => void = () => undefined
  #isStopped = false
  #subscription: NotifierSubscription | undefined
  #isPolling = false
  /** Changes notified since the start of the last poll. */
  #pendingChange: StorageChange | undefined
  #polledLeaseMs = 0
  #pollEndedMs = 0
  #currentAsOfMs: number
  #leader: LeaseStatus = { term: 0, holder: '', address: '', remainingMs: 0 }
  /** Time of the lease request that returned `#leader`. */
  #leaderReadMs = 0

  constructor(options: FollowerLoopOptions) {
    this.#options = options
    this.#currentAsOfMs = options.currentAsOfMs ?? options.monotonicMs()
  }

  /** The leader as of the last lease request. */
  get leader(): LeaseStatus {
    const ageMs = this.#options.monotonicMs() - this.#leaderReadMs
    return ageMs < this.#leader.remainingMs
      ? this.#leader
      : { ...this.#leader, address: '', remainingMs: 0 }
  }

  /** Milliseconds since the log was last read to its end while a leader held the lease. */
  get lastContactMs(): number {
    return Math.max(0, Math.round(this.#options.monotonicMs() - this.#currentAsOfMs))
  }

  start(): void {
    this.#subscription = this.#options.notifier?.subscribe((change) => this.#onChange(change))
    this.#startPoll()
    this.#scheduleLeaderReport()
  }

  /**
   * Reports the leader during a long poll: the database may be slow or away or the table locked,
   * and the lease expires or is renewed long before that ends.
   */
  #scheduleLeaderReport(): void {
    this.#cancelLeaderReport = this.#options.clock.after(NOTIFIED_POLL_MS, () => {
      this.#scheduleLeaderReport()
      if (!this.#isPolling) return
      this.#options.onLeader(this.leader.address)
      // A failure here fails the poll too.
      this.#readLeader().then(
        () => this.#options.onLeader(this.leader.address),
        () => undefined,
      )
    })
  }

  async #readLeader(): Promise<LeaseStatus> {
    const requestedMs = this.#options.monotonicMs()
    const leader = await this.#options.lease.read()
    // A later request may have been answered first.
    if (requestedMs >= this.#leaderReadMs) {
      this.#leader = leader
      this.#leaderReadMs = requestedMs
    }
    return leader
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    this.#cancelLeaderReport()
    this.#subscription?.stop()
    await this.#running
  }

  #onChange(change: StorageChange): void {
    if (this.#pendingChange !== 'lease') this.#pendingChange = change
    if (!this.#isPolling) this.#schedulePoll()
  }

  #schedulePoll(): void {
    if (this.#isStopped) return
    this.#cancel()
    this.#cancel = this.#options.clock.after(this.#delayMs(), () => this.#startPoll())
  }

  #delayMs(): number {
    if (this.#pendingChange === undefined)
      return this.#subscription?.isConnected === true ? NOTIFIED_POLL_MS : POLL_MS
    return Math.max(0, this.#pollEndedMs + DEBOUNCE_MS - this.#options.monotonicMs())
  }

  /** Re-reads the lease at the same interval however many appends are notified. */
  #startPoll(): void {
    const { monotonicMs } = this.#options
    const isLogOnly =
      this.#pendingChange === 'log' && monotonicMs() - this.#polledLeaseMs < NOTIFIED_POLL_MS
    this.#pendingChange = undefined
    this.#isPolling = true
    this.#running = (isLogOnly ? this.#pollLog() : this.#poll()).finally(() => {
      this.#isPolling = false
      this.#pollEndedMs = monotonicMs()
      this.#schedulePoll()
    })
  }

  async #pollLog(): Promise<void> {
    const { onCaughtUp, onError } = this.#options
    await this.catchUp().then(onCaughtUp, onError)
  }

  async #poll(): Promise<void> {
    const { monotonicMs, onError, onCaughtUp } = this.#options
    const startedMs = monotonicMs()
    this.#polledLeaseMs = startedMs
    try {
      const leader = await this.#readLeader()
      const log = await this.catchUp()
      if (leader.remainingMs > 0) this.#currentAsOfMs = startedMs
      onCaughtUp?.(log)
    } catch (thrown) {
      onError(thrown)
    }
    this.#options.onLeader(this.leader.address)
  }

  /**
   * Applies the log to its end as of now. Rejects with `log-diverged` if the state does not come
   * from this log.
   */
  async catchUp(): Promise<FollowedLog> {
    const { engine, store, history } = this.#options
    const applied = history.last
    assert(applied.index === store.index, 'a follower remembers what it has applied')
    const log = await engine.refresh(applied)
    const { lastIndex, firstIndex } = log
    this.#assertSameLog(applied, log)
    if (lastIndex === store.index) return log
    let entries: FollowedEntry[] = []
    for await (const entry of engine.read(store.index + 1, applied)) {
      if (entry.index > lastIndex) break
      entries.push(entry)
      if (entries.length < ENTRIES_PER_TICK) continue
      this.#apply(entries)
      entries = []
      await yieldToEventLoop()
    }
    if (entries.length > 0) this.#apply(entries)
    store.log.noteTrimmed(firstIndex)
    return log
  }

  #assertSameLog(applied: EntryId, log: LogEnd): void {
    const comparison = compareWithLog(applied, log)
    if (comparison === 'diverged')
      throw new Fault(
        LOG_DIVERGED,
        `the database does not hold log entry ${applied.index} as this server has applied it: it ` +
          'has lost commits, or was restored to an earlier time',
      )
    // The follower was cut off until the leader trimmed the next entries.
    if (comparison === 'behind')
      throw new Fault('follower-behind', 'the log begins after what this server has seen of it')
  }

  #apply(entries: readonly FollowedEntry[]): void {
    this.#options.store.applyReplicated(entries)
    for (const { index, term, nonce } of entries) this.#options.history.add({ index, term, nonce })
  }
}

/** A change in the shared storage: appended entries, or a new holder of the lease. */
export type StorageChange = 'log' | 'lease'

/**
 * Notifies followers of changes, so that they poll rarely. Notifications may be spurious or lost
 * for a while: subscribers still poll.
 */
export interface ChangeNotifier {
  /**
   * Calls `onChange` for each change from now on, and for both kinds when the connection is
   * (re)opened.
   */
  subscribe(onChange: (change: StorageChange) => void): NotifierSubscription
}

export interface NotifierSubscription {
  /** False while notifications may be lost. */
  readonly isConnected: boolean
  /** Ends the notifications at once. */
  stop(): void
}
