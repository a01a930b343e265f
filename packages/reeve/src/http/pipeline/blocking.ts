import type { Clock, Random } from '@reeve/kit/clock.ts'
import { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { blockingWaitMs, LIMITS } from '../../model/index.ts'
import type { Store, WatchTarget } from '../../state/index.ts'
import type { WaitHandle } from '../lifecycle.ts'
import { QueryError } from '../query.ts'
import { responseBytes, SharedResponses, type ReadResult } from './shared-responses.ts'
import { WakeQueue, type Turn } from './wake-turns.ts'

/** The source of a blocking query. It is cheap enough to be checked at every wake-up. */
export interface BlockingSource {
  /** Current index of the result. */
  readonly index: () => number
  readonly watch: readonly WatchTarget[]
}

/** Outcome of a wait. */
export interface WaitResult {
  /** Current index of the result. */
  readonly index: number
  /** Index of the commit that woke the query last; undefined if it timed out. */
  readonly wokenBy: number | undefined
}

/** Blocking parameters of a query. */
export interface WaitRequest {
  /** Wait until the result's index is larger than this; 0 does not wait. */
  readonly minIndex: number
  readonly wait: string | undefined
}

export interface BlockingOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Maximum number of waiting queries per tenant; unlimited unless given. */
  readonly perTenantMax?: number | undefined
}

/** Waiting blocking queries: counts them by tenant, wakes and limits them. */
export class ParkedQueries {
  readonly responses: SharedResponses
  readonly #options: BlockingOptions
  /** Number of waiting queries by tenant. */
  readonly slots: TenantSlots
  readonly #wakeQueue = new WakeQueue()

  constructor(options: BlockingOptions) {
    this.#options = options
    this.responses = new SharedResponses(options.clock)
    this.slots = new TenantSlots('blocking_queries_per_token', options.perTenantMax)
  }

  get count(): number {
    return this.slots.held
  }

  /** Reports whether a read must wait; all others are answered at once. */
  shouldBlock({ minIndex, wait }: WaitRequest, source: BlockingSource): boolean {
    if (minIndex === 0) return false
    parseWaitMs(wait)
    return source.index() <= minIndex && this.count < LIMITS.parkedQueriesMax
  }

  /**
   * Waits until the result's index exceeds the one of the request, or the deadline. A wake-up does
   * not imply a change. Queries of one tenant that are woken together continue a few at a time, as
   * `turn` schedules them.
   */
  async waitForIndex(
    tenant: string,
    { minIndex, wait }: WaitRequest,
    handle: WaitHandle,
    source: BlockingSource,
    turn?: Turn,
  ): Promise<WaitResult> {
    const { clock, random } = this.#options
    let index = source.index()
    let wokenBy: number | undefined
    if (minIndex === 0 || this.count >= LIMITS.parkedQueriesMax) return { index, wokenBy }
    const deadlineMs = clock.monotonicMs() + waitMs(wait, random)
    this.slots.acquire(tenant)
    try {
      while (index <= minIndex && !handle.isCancelled) {
        const remainingMs = deadlineMs - clock.monotonicMs()
        if (remainingMs <= 0) break
        wokenBy = await this.#waitForChange(source.watch, remainingMs, handle)
        if (turn !== undefined && !handle.isCancelled) await this.#wakeQueue.next(tenant, turn)
        index = source.index()
      }
    } finally {
      this.slots.release(tenant)
    }
    return { index, wokenBy }
  }

  /**
   * Resolves when a woken query may send its response. Queries with a shared response receive it at
   * the same moment, and each write of a large response is a system call of a millisecond.
   */
  async waitToSend(tenant: string, { answer }: ReadResult, turn: Turn): Promise<void> {
    await this.#wakeQueue.next(tenant, turn, responseBytes(answer))
  }

  /**
   * Subscribes to changes in the tick of the read: an earlier commit was seen by the read, a later
   * one wakes the query when it is durable.
   */
  #waitForChange(
    targets: readonly WatchTarget[],
    timeoutMs: number,
    handle: WaitHandle,
  ): Promise<number | undefined> {
    const { store, clock } = this.#options
    return new Promise((resolve) => {
      const done = (index: number | undefined): void => {
        cancelWatch()
        cancelTimer()
        handle.onCancel(undefined)
        resolve(index)
      }
      const cancelWatch = store.watches.watch(targets, done)
      const cancelTimer = clock.after(timeoutMs, () => done(undefined))
      handle.onCancel(() => done(undefined))
    })
  }
}

/** Returns the wait time: default 5 minutes, maximum 10, plus up to a sixteenth as jitter. */
export function waitMs(wait: string | undefined, random: Random): number {
  const base = parseWaitMs(wait)
  return base + random.next() * (base / LIMITS.waitJitterShare)
}

function parseWaitMs(wait: string | undefined): number {
  const base = blockingWaitMs(wait)
  if (base === undefined) throw new QueryError('Invalid wait time')
  return base
}
