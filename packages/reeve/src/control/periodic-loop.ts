import { setImmediate } from 'node:timers/promises'
import type { Job } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  decideLaunch,
  doneMsOf,
  launchRecordAt,
  nextLaunchMs,
  periodicChild,
  type LaunchDecision,
  type OffsetAt,
} from '../model/index.ts'
import { childRows, put, type Commit, type Stamp, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/** The machine's clock may be set: no wait is longer than this, so it is noticed. */
const LOOK_AGAIN_MS = 60_000
/** Entries of the queue beyond two for each job, before those that no longer count are dropped. */
const VOID_ENTRIES_MAX = 1_000
/** How long a launch waits after the storage refused it. */
const RETRY_MS = 1_000

export interface PeriodicLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly offsetAt: OffsetAt
  readonly log: ControlLog
  /** Gives others their turn between two launches. */
  readonly nextTurn?: () => Promise<void>
}

interface Due {
  /** Of the job, and of its row in `periodic_launches`. */
  readonly key: string
  readonly dueMs: number
  /** The row that it was worked out from: a later one makes it void. */
  readonly rowIndex: number
}

/**
 * Launches the children of periodic jobs. What is due follows from the rows of `periodic_launches`
 * alone; a launch and its record are one commit, so no launch is lost or made twice, whenever the
 * server stops.
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

  /** Rebuilds the queue from the state, then follows the log. */
  start(): void {
    const { store } = this.#options
    this.#unsubscribe = store.log.subscribe((commits) => this.#follow(commits))
    for (const key of store.tables.periodic_launches.keys()) this.#enqueue(key)
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unsubscribe()
    this.#cancelTimer()
    await this.#running
  }

  #follow(commits: readonly Commit[]): void {
    const rows = commits.flatMap((commit) => commit.rows)
    const written = rows.filter((row) => row.table === 'periodic_launches')
    if (written.length === 0) return
    for (const row of written) if (row.header !== undefined) this.#enqueue(row.key)
    this.#wake()
  }

  #enqueue(key: string): void {
    const { store, offsetAt, log } = this.#options
    const { jobs, periodic_launches } = store.tables
    const row = periodic_launches.find(key)
    const periodic = jobs.find(key)?.Periodic ?? null
    if (row === undefined || periodic === null) return
    try {
      const dueMs = nextLaunchMs(periodic, doneMsOf(row), offsetAt)
      if (dueMs !== undefined) this.#queue.push({ key, dueMs, rowIndex: row.ModifyIndex })
      if (this.#queue.size > 2 * periodic_launches.size + VOID_ENTRIES_MAX) this.#dropVoid()
    } catch (thrown) {
      // A zone that was known where the job was registered and is not here.
      log.error({ job: row.ID, err: errorMessage(thrown) }, 'periodic job cannot be launched')
    }
  }

  /** Entries that no longer count go when they come first; a schedule may change before that. */
  #dropVoid(): void {
    const all = this.#queue
    this.#queue = newQueue()
    for (let one = all.pop(); one !== undefined; one = all.pop())
      if (this.#counts(one)) this.#queue.push(one)
  }

  #counts({ key, rowIndex }: Due): boolean {
    return this.#options.store.tables.periodic_launches.modifyIndexOf(key) === rowIndex
  }

  #wake(): void {
    if (this.#stopped) return
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
      this.#arm()
    })
  }

  #arm(): void {
    const next = this.#nextDue()
    this.#cancelTimer()
    if (next === undefined || this.#stopped) return
    const delayMs = Math.min(next.dueMs - this.#options.clock.nowMs(), LOOK_AGAIN_MS)
    this.#cancelTimer = this.#options.clock.after(Math.max(0, delayMs), () => this.#wake())
  }

  /** The first entry that still counts; those whose row is gone or another one by now go. */
  #nextDue(): Due | undefined {
    for (let next = this.#queue.peek(); next !== undefined; next = this.#queue.peek()) {
      if (this.#counts(next)) return next
      this.#queue.pop()
    }
    return undefined
  }

  async #drain(): Promise<void> {
    const { clock, nextTurn = () => setImmediate() } = this.#options
    // Whatever woke the loop is over before it works.
    await nextTurn()
    for (let next = this.#nextDue(); next !== undefined; next = this.#nextDue()) {
      if (this.#stopped || next.dueMs > clock.nowMs()) return
      this.#queue.pop()
      this.#carryOut(next)
      await nextTurn()
    }
  }

  #carryOut(due: Due): void {
    const { log, clock, store } = this.#options
    try {
      this.#launch(due)
    } catch (thrown) {
      // The storage has failed: the launch is found due again after a restart.
      if (store.fault !== undefined) return
      log.error({ job: due.key, err: errorMessage(thrown) }, 'periodic launch failed')
      // A storage that cannot keep up may do so later. Anything else is a mistake of ours, which
      // another try would only repeat.
      if (thrown instanceof Fault)
        clock.after(RETRY_MS, () => {
          this.#queue.push(due)
          this.#wake()
        })
    }
  }

  #launch({ key, dueMs }: Due): void {
    const { store, clock, offsetAt } = this.#options
    const parent = store.tables.jobs.get(key)
    const { Periodic: periodic } = parent
    assert(periodic !== null, 'a job with a record of launches is periodic')
    const decision = decideLaunch({
      periodic,
      dueMs,
      nowMs: clock.nowMs(),
      isOverlapping: store.tables.jobs.countIn('liveChild', key) > 0,
      offsetAt,
    })
    store.commit({
      by: 'system',
      cause: decision.launchMs === undefined ? undefined : 'JobRegistered',
      changes: (stamp) => this.#rows(parent, decision, stamp),
    })
  }

  #rows(parent: Job, { launchMs, doneMs }: LaunchDecision, stamp: Stamp) {
    const { store, ids } = this.#options
    const record = put('periodic_launches', launchRecordAt(parent, doneMs))
    if (launchMs === undefined) return [record]
    const origin = { submittedBy: undefined, origin: 'periodic', message: '' }
    const options = { stamp, ids, evalId: ids.uuid(), trigger: 'periodic-job', origin } as const
    return [record, ...childRows(store.tables, periodicChild(parent, launchMs), options)]
  }
}

function newQueue(): Heap<Due> {
  return new Heap((a, b) => a.dueMs - b.dueMs || compareText(a.key, b.key))
}
