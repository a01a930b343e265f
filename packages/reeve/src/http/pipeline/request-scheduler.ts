import { FairQueue, type QueueRejection } from '@reeve/kit/fair-queue.ts'

/** Bounds of the requests that wait for the event loop, and of what one tick of it does. */
export interface SchedulerLimits {
  readonly waitingMax: number
  readonly waitingPerTenantMax: number
  /**
   * Requests that are started in one tick. As few as eight of them make a request as cheap as
   * sixty-four do; with more, their commits wait longer to be written (decision 0056).
   */
  readonly batchSizeMax: number
  /** Time after which a tick starts nothing more, so that I/O has its turn. */
  readonly tickMs: number
}

export const SCHEDULER_LIMITS: SchedulerLimits = {
  waitingMax: 50_000,
  waitingPerTenantMax: 10_000,
  batchSizeMax: 32,
  tickMs: 5,
}

/** Cost units: a point read is 1, which is some 50 µs of the event loop. */
const QUANTUM = 16
/** Requests that are started between two looks at the clock. */
const REQUESTS_PER_CLOCK = 4
/** Cost of one slice of expensive work, which takes up to 5 ms. */
const SLICE_COST = 64

interface Work {
  readonly run: () => void
  /** The rest of an expensive request: nothing else is started in the same tick after it. */
  readonly isSlice: boolean
}

/**
 * Shares the event loop between tenants: requests and slices of expensive requests wait in a fair
 * queue, and each tick runs a few milliseconds of them. A tenant with many or expensive requests
 * delays only itself.
 *
 * Requests of one tick are started together: each step of their work is done for all of them
 * before the next one, while its code is in the processor's caches, which makes a registration by
 * a third cheaper (decision 0056).
 */
export class RequestScheduler {
  readonly #limits: SchedulerLimits
  readonly #queue: FairQueue<Work>
  #isScheduled = false

  constructor(limits: SchedulerLimits = SCHEDULER_LIMITS) {
    this.#limits = limits
    this.#queue = new FairQueue({
      itemsMax: limits.waitingMax,
      itemsPerTenantMax: limits.waitingPerTenantMax,
      quantum: QUANTUM,
    })
  }

  /** Requests and slices that wait. */
  get waiting(): number {
    return this.#queue.size
  }

  get waitingMax(): number {
    return this.#limits.waitingMax
  }

  /** Starts a request in one of the next ticks; says why where it may not wait. */
  enter(tenant: string, cost: number, start: () => void): QueueRejection | undefined {
    return this.#add(tenant, cost, { run: start, isSlice: false })
  }

  /**
   * Gives the event loop to others; resolves when the tenant has its next turn. Expensive work
   * calls it every few milliseconds. State that was read before may have changed after it.
   */
  turn(tenant: string): Promise<void> {
    return new Promise((resolve) => {
      const rejection = this.#add(tenant, SLICE_COST, { run: resolve, isSlice: true })
      // The request is under way: it goes on late rather than not at all.
      if (rejection !== undefined) setImmediate(resolve)
    })
  }

  #add(tenant: string, cost: number, work: Work): QueueRejection | undefined {
    const rejection = this.#queue.push(tenant, work, cost)
    if (rejection === undefined) this.#schedule()
    return rejection
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#tick)
  }

  readonly #tick = (): void => {
    this.#isScheduled = false
    const { batchSizeMax, tickMs } = this.#limits
    const endMs = performance.now() + tickMs
    for (let started = 0; started < batchSizeMax; started++) {
      const work = this.#queue.take()
      if (work === undefined) return
      work.run()
      if (work.isSlice) break
      // Most requests take a fraction of a millisecond; reading the clock is a part of that.
      if (started % REQUESTS_PER_CLOCK === 0 && performance.now() > endMs) break
    }
    if (this.#queue.size > 0) this.#schedule()
  }
}
