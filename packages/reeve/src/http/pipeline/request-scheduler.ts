import { FairQueue, type QueueRejection } from '@reeve/kit/fair-queue.ts'

/** Limits of the requests that wait for the event loop, and of the work of one tick. */
export interface SchedulerLimits {
  readonly waitingMax: number
  readonly waitingPerTenantMax: number
  /**
   * Maximum number of requests started in one tick. Eight make a request as cheap as sixty-four;
   * with more, their commits wait longer to be written (decision 0056).
   */
  readonly batchSizeMax: number
  /** Time after which a tick starts no further request, so that I/O gets its turn. */
  readonly tickMs: number
}

export const SCHEDULER_LIMITS: SchedulerLimits = {
  waitingMax: 50_000,
  waitingPerTenantMax: 10_000,
  batchSizeMax: 32,
  tickMs: 5,
}

/** Quantum of the fair queue in cost units: a point read is 1, about 50 µs of the event loop. */
const QUANTUM = 16
/** Number of requests started between two readings of the clock. */
const REQUESTS_PER_CLOCK = 4
/** Cost of one slice of expensive work, which takes up to 5 ms. */
const SLICE_COST = 64

interface Work {
  readonly run: () => void
  /** A slice of an expensive request ends the tick: nothing else is started after it. */
  readonly isSlice: boolean
}

/**
 * Shares the event loop between tenants: requests, and slices of expensive requests, wait in a fair
 * queue, and each tick runs them for a few milliseconds. A tenant with many or expensive requests
 * delays only itself. Requests of one tick are started together: each stage runs for all of them
 * while its code is in the CPU caches, which makes a registration a third cheaper (decision 0056).
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

  /** Number of waiting requests and slices. */
  get waiting(): number {
    return this.#queue.size
  }

  get waitingMax(): number {
    return this.#limits.waitingMax
  }

  /**
   * Queues a request to be started in one of the next ticks; returns the reason if it is rejected.
   */
  enter(tenant: string, cost: number, start: () => void): QueueRejection | undefined {
    return this.#add(tenant, cost, { run: start, isSlice: false })
  }

  /**
   * Yields the event loop; resolves when the tenant has its next turn. Expensive work calls it
   * every few milliseconds. State that was read before the call may have changed.
   */
  waitForTurn(tenant: string): Promise<void> {
    return new Promise((resolve) => {
      const rejection = this.#add(tenant, SLICE_COST, { run: resolve, isSlice: true })
      // The request is running already: it continues late rather than failing.
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
      // Most requests take a fraction of a millisecond, of which reading the clock is a notable
      // part.
      if (started % REQUESTS_PER_CLOCK === 0 && performance.now() > endMs) break
    }
    if (this.#queue.size > 0) this.#schedule()
  }
}
