import { setImmediate } from 'node:timers/promises'
import type { Job } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  decideLaunch,
  lastLaunchMs,
  launchRecordAt,
  nextLaunchMs,
  periodicChild,
  type LaunchDecision,
  type OffsetAt,
} from '../model/index.ts'
import { childJobRows, put, type Commit, type Stamp, type Store } from '../state/index.ts'
import type { Logger } from '@reeve/kit/log.ts'

/** Maximum timer delay, so that changes of the clock are noticed. */
const MAX_TIMER_MS = 60_000
/** Stale queue entries beyond two per job after which the queue is rebuilt. */
const STALE_ENTRIES_MAX = 1_000
/** Delay before a launch is retried after a storage fault. */
const RETRY_DELAY_MS = 1_000

interface PeriodicLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly utcOffsetAt: OffsetAt
  readonly log: Omit<Logger, 'debug'>
  /** Yields to the event loop between launches. */
  readonly yieldToEventLoop?: () => Promise<void>
}

interface DueLaunch {
  /** Key of the job and of its row in `periodic_launches`. */
  readonly key: string
  readonly dueMs: number
  /** Modify index of the row it was computed from; a newer row makes it stale. */
  readonly rowIndex: number
}

/**
 * Launches the child jobs of periodic jobs. Due launches are derived from `periodic_launches` only;
 * a launch and its record are one commit, so no launch is lost or repeated when the server stops.
 */
export class PeriodicLoop {
  readonly #options: PeriodicLoopOptions
  #queue = newQueue()
  #unsubscribe: () => void = () => undefined
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: PeriodicLoopOptions) {
    this.#options = options
  }

  /** Builds the queue from the state, then follows the log. */
  start(): void {
    const { store } = this.#options
    this.#unsubscribe = store.log.subscribe((commits) => this.#onCommits(commits))
    for (const key of store.tables.periodic_launches.keys()) this.#enqueue(key)
    this.#startProcessing()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unsubscribe()
    this.#cancelTimer()
    await this.#running
  }

  #onCommits(commits: readonly Commit[]): void {
    const rows = commits.flatMap((commit) => commit.rows)
    const written = rows.filter((row) => row.table === 'periodic_launches')
    if (written.length === 0) return
    for (const row of written) if (row.header !== undefined) this.#enqueue(row.key)
    this.#startProcessing()
  }

  #enqueue(key: string): void {
    const { store, utcOffsetAt, log } = this.#options
    const { jobs, periodic_launches } = store.tables
    const row = periodic_launches.find(key)
    const periodic = jobs.find(key)?.Periodic ?? null
    if (row === undefined || periodic === null) return
    try {
      const dueMs = nextLaunchMs(periodic, lastLaunchMs(row), utcOffsetAt)
      if (dueMs !== undefined) this.#queue.push({ key, dueMs, rowIndex: row.ModifyIndex })
      if (this.#queue.size > 2 * periodic_launches.size + STALE_ENTRIES_MAX) this.#dropStale()
    } catch (thrown) {
      // The time zone was known on the server that registered the job, but not on this one.
      log.error({ job: row.ID, err: errorMessage(thrown) }, 'periodic job cannot be launched')
    }
  }

  /** Rebuilds the queue without stale entries, which would otherwise stay until they are due. */
  #dropStale(): void {
    const oldQueue = this.#queue
    this.#queue = newQueue()
    for (let entry = oldQueue.pop(); entry !== undefined; entry = oldQueue.pop())
      if (this.#isCurrent(entry)) this.#queue.push(entry)
  }

  #isCurrent({ key, rowIndex }: DueLaunch): boolean {
    return this.#options.store.tables.periodic_launches.modifyIndexOf(key) === rowIndex
  }

  #startProcessing(): void {
    if (this.#stopped) return
    this.#running ??= this.#processQueue().finally(() => {
      this.#running = undefined
      this.#armTimer()
    })
  }

  #armTimer(): void {
    const next = this.#nextDue()
    this.#cancelTimer()
    if (next === undefined || this.#stopped) return
    const delayMs = Math.min(next.dueMs - this.#options.clock.nowMs(), MAX_TIMER_MS)
    this.#cancelTimer = this.#options.clock.after(Math.max(0, delayMs), () =>
      this.#startProcessing(),
    )
  }

  /** Returns the first current entry and drops stale ones. */
  #nextDue(): DueLaunch | undefined {
    for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
      if (this.#isCurrent(next)) return next
      this.#queue.pop()
    }
    return undefined
  }

  async #processQueue(): Promise<void> {
    const { clock, yieldToEventLoop = () => setImmediate() } = this.#options
    // Let the caller finish first.
    await yieldToEventLoop()
    for (let next = this.#nextDue(); next !== undefined; next = this.#nextDue()) {
      if (this.#stopped || next.dueMs > clock.nowMs()) return
      this.#queue.pop()
      this.#tryLaunch(next)
      await yieldToEventLoop()
    }
  }

  #tryLaunch(due: DueLaunch): void {
    const { log, clock, store } = this.#options
    try {
      this.#launch(due)
    } catch (thrown) {
      // Storage fault: the launch is still due after a restart.
      if (store.fault !== undefined) return
      log.error({ job: due.key, err: errorMessage(thrown) }, 'periodic launch failed')
      // An overloaded storage may recover. Any other error is a bug, which a retry would only
      // repeat.
      if (thrown instanceof Fault)
        clock.after(RETRY_DELAY_MS, () => {
          this.#queue.push(due)
          this.#startProcessing()
        })
    }
  }

  #launch({ key, dueMs }: DueLaunch): void {
    const { store, clock, utcOffsetAt } = this.#options
    const parent = store.tables.jobs.get(key)
    const { Periodic: periodic } = parent
    assert(periodic !== null, 'a job with a record of launches is periodic')
    const decision = decideLaunch({
      periodic,
      dueMs,
      nowMs: clock.nowMs(),
      isOverlapping: store.tables.jobs.countByIndex('liveChild', key) > 0,
      offsetAt: utcOffsetAt,
    })
    store.commit({
      by: 'system',
      cause: decision.launchMs === undefined ? undefined : 'JobRegistered',
      changes: (stamp) => this.#launchChanges(parent, decision, stamp),
    })
  }

  #launchChanges(parent: Job, { launchMs, doneMs }: LaunchDecision, stamp: Stamp) {
    const { store, ids } = this.#options
    const record = put('periodic_launches', launchRecordAt(parent, doneMs))
    if (launchMs === undefined) return [record]
    const origin = { submittedBy: undefined, origin: 'periodic', message: '' }
    const options = { stamp, ids, evalId: ids.uuid(), trigger: 'periodic-job', origin } as const
    return [record, ...childJobRows(store.tables, periodicChild(parent, launchMs), options)]
  }
}

function newQueue(): Heap<DueLaunch> {
  return new Heap((a, b) => a.dueMs - b.dueMs || compareText(a.key, b.key))
}
