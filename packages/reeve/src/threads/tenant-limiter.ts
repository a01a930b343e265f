import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { OverloadCause, TaskOrigin } from './thread-queue.ts'

export interface ConcurrencyLimits {
  /** Tenants whose work may run at the same time. */
  readonly runningMax: number
  /** Maximum number of queued work items, per tenant and over all tenants. */
  readonly waitingPerTenantMax: number
  readonly waitingMax: number
  /** Queued work that has waited longer is rejected when a slot becomes free. */
  readonly waitMsMax: number
}

interface QueuedWork {
  readonly queuedMs: number
  readonly start: () => void
  readonly reject: (cause: OverloadCause) => void
}

/**
 * Runs long work of one tenant at a time, and of a few tenants at once, so that its memory is
 * bounded. A tenant with more work waits for its own; tenants are served round-robin.
 */
export class TenantConcurrencyLimiter {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #limits: ConcurrencyLimits
  readonly #running = new Set<string>()
  /** Queued work by tenant; tenants are served in the order of this map. */
  readonly #queues = new Map<string, QueuedWork[]>()
  #queuedCount = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>, limits: ConcurrencyLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get limits(): ConcurrencyLimits {
    return this.#limits
  }

  /** Runs the work when a slot is free, or returns the reason for rejecting it. */
  async run<T>(origin: TaskOrigin, work: () => Promise<T>): Promise<Result<T, OverloadCause>> {
    const { tenant, signal } = origin
    const rejection = await this.#waitForSlot(tenant, signal)
    if (rejection !== undefined) return err(rejection)
    try {
      return ok(await work())
    } finally {
      this.#running.delete(tenant)
      this.#startNext()
    }
  }

  /** Resolves with undefined when the work may start, or with the reason for rejecting it. */
  #waitForSlot(
    tenant: string,
    signal: AbortSignal | undefined,
  ): Promise<OverloadCause | undefined> {
    return new Promise((settle, fail) => {
      if (this.#canStart(tenant)) {
        this.#running.add(tenant)
        return settle(undefined)
      }
      const backlog = this.#queues.get(tenant) ?? []
      if (this.#queuedCount >= this.#limits.waitingMax) return settle('full')
      if (backlog.length >= this.#limits.waitingPerTenantMax) return settle('tenant-full')
      const waiting: QueuedWork = {
        queuedMs: this.#clock.monotonicMs(),
        start: () => settle(undefined),
        reject: settle,
      }
      backlog.push(waiting)
      this.#queues.set(tenant, backlog)
      this.#queuedCount++
      signal?.addEventListener('abort', () => this.#cancel(tenant, waiting, fail), { once: true })
    })
  }

  #canStart(tenant: string): boolean {
    return (
      this.#running.size < this.#limits.runningMax &&
      !this.#running.has(tenant) &&
      !this.#queues.has(tenant)
    )
  }

  #cancel(tenant: string, waiting: QueuedWork, fail: (thrown: Error) => void): void {
    const backlog = this.#queues.get(tenant) ?? []
    const at = backlog.indexOf(waiting)
    if (at < 0) return
    backlog.splice(at, 1)
    this.#queuedCount--
    if (backlog.length === 0) this.#queues.delete(tenant)
    fail(new Fault('cancelled', 'The caller closed the connection before its work was started'))
  }

  #startNext(): void {
    for (const [tenant, backlog] of this.#queues) {
      if (this.#running.size >= this.#limits.runningMax) return
      if (this.#running.has(tenant)) continue
      const waiting = this.#takeUnexpired(backlog)
      // A tenant with more work goes to the end of the round; one without is removed.
      this.#queues.delete(tenant)
      if (backlog.length > 0) this.#queues.set(tenant, backlog)
      if (waiting === undefined) continue
      this.#running.add(tenant)
      waiting.start()
    }
  }

  /** Returns the oldest work of a tenant that has not expired, and rejects expired work. */
  #takeUnexpired(backlog: QueuedWork[]): QueuedWork | undefined {
    const nowMs = this.#clock.monotonicMs()
    for (let waiting = backlog.shift(); waiting !== undefined; waiting = backlog.shift()) {
      this.#queuedCount--
      if (nowMs - waiting.queuedMs <= this.#limits.waitMsMax) return waiting
      waiting.reject('waited-too-long')
    }
    return undefined
  }
}
