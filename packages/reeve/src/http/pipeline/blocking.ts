import type { Clock, Random } from '@reeve/kit/clock.ts'
import { TenantSlots } from '@reeve/kit/tenant-slots.ts'
import { blockingWaitMs, LIMITS } from '../../model/index.ts'
import type { Store, WatchTarget } from '../../state/index.ts'
import type { Hold } from '../lifecycle.ts'
import { QueryError } from '../query.ts'
import { answerBytes, SharedResponses, type ReadResult } from './shared-responses.ts'
import { WakeTurns, type Turn } from './wake-turns.ts'

/** What a blocking query waits for: cheap enough to be checked at every wake-up. */
export interface BlockingSource {
  /** The index of the result now. */
  readonly index: () => number
  readonly watch: readonly WatchTarget[]
}

/** A query that has waited. */
export interface Waited {
  /** The index of the result now. */
  readonly index: number
  /** The commit that woke it last; undefined when no commit did. */
  readonly wokenBy: number | undefined
}

/** How long a read may be held back, as its query says. */
export interface WaitRequest {
  /** Hold until the result's index is larger; 0 answers at once. */
  readonly minIndex: number
  readonly wait: string | undefined
}

export interface BlockingOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Queries of one tenant that may wait; any number unless given. */
  readonly perTenantMax?: number | undefined
}

/** Blocking queries that wait: counts them by tenant, wakes them, and bounds them. */
export class ParkedQueries {
  readonly responses: SharedResponses
  readonly #options: BlockingOptions
  /** Counts the queries that wait, by tenant. */
  readonly slots: TenantSlots
  readonly #turns = new WakeTurns()

  constructor(options: BlockingOptions) {
    this.#options = options
    this.responses = new SharedResponses(options.clock)
    this.slots = new TenantSlots('blocking_queries_per_token', options.perTenantMax)
  }

  get count(): number {
    return this.slots.held
  }

  /** Whether a read is held back at all; one that cannot be is answered at once. */
  shouldBlock({ minIndex, wait }: WaitRequest, source: BlockingSource): boolean {
    if (minIndex === 0) return false
    parseWaitMs(wait)
    return source.index() <= minIndex && this.count < LIMITS.parkedQueriesMax
  }

  /**
   * Waits until the result's index is larger than the one of the request, or the deadline. A
   * wake-up does not promise a change. Queries of one tenant that are woken together go on a few at
   * a time: in its turns, where `turn` gives them.
   */
  async waitForIndex(
    tenant: string,
    { minIndex, wait }: WaitRequest,
    hold: Hold,
    source: BlockingSource,
    turn?: Turn,
  ): Promise<Waited> {
    const { clock, random } = this.#options
    let index = source.index()
    let wokenBy: number | undefined
    if (minIndex === 0 || this.count >= LIMITS.parkedQueriesMax) return { index, wokenBy }
    const deadlineMs = clock.monotonicMs() + waitMs(wait, random)
    this.slots.acquire(tenant)
    try {
      while (index <= minIndex && !hold.isOver) {
        const leftMs = deadlineMs - clock.monotonicMs()
        if (leftMs <= 0) break
        wokenBy = await this.#waitForChange(source.watch, leftMs, hold)
        if (turn !== undefined && !hold.isOver) await this.#turns.next(tenant, turn)
        index = source.index()
      }
    } finally {
      this.slots.release(tenant)
    }
    return { index, wokenBy }
  }

  /**
   * Resolves when a query that was woken may send its response. Those that share one get it at the
   * same moment, and each write of a large response is a system call of a millisecond.
   */
  async turnToSend(tenant: string, { answer }: ReadResult, turn: Turn): Promise<void> {
    await this.#turns.next(tenant, turn, answerBytes(answer))
  }

  /**
   * Registered in the same tick in which the read ran: a commit applied later wakes it when it is
   * durable, one applied earlier was seen by the read. Nothing falls in between.
   */
  #waitForChange(
    targets: readonly WatchTarget[],
    timeoutMs: number,
    hold: Hold,
  ): Promise<number | undefined> {
    const { store, clock } = this.#options
    return new Promise((resolve) => {
      const done = (index: number | undefined): void => {
        cancelWatch()
        cancelTimer()
        hold.onOver(undefined)
        resolve(index)
      }
      const cancelWatch = store.watches.watch(targets, done)
      const cancelTimer = clock.after(timeoutMs, () => done(undefined))
      hold.onOver(() => done(undefined))
    })
  }
}

/** Default 5 minutes, cap 10, plus up to a sixteenth so that callers spread out. */
export function waitMs(wait: string | undefined, random: Random): number {
  const base = parseWaitMs(wait)
  return base + random.next() * (base / LIMITS.waitJitterShare)
}

function parseWaitMs(wait: string | undefined): number {
  const base = blockingWaitMs(wait)
  if (base === undefined) throw new QueryError('Invalid wait time')
  return base
}
