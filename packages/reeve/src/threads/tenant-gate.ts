import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { OverloadCause, TaskOrigin } from './thread-queue.ts'

export interface GateLimits {
  /** Tenants whose work is under way at the same time. */
  readonly runningMax: number
  /** Work that waits, of one tenant and of all tenants together. */
  readonly waitingPerTenantMax: number
  readonly waitingMax: number
  /** Work that has waited longer is dropped when its turn comes. */
  readonly waitMsMax: number
}

interface Waiting {
  readonly queuedMs: number
  readonly start: () => void
  readonly reject: (cause: OverloadCause) => void
}

/**
 * Admits long work of one tenant at a time, and of a few tenants together: what it keeps in memory
 * is bounded, and a tenant that asks for more of it waits for itself. Tenants are served in turn.
 */
export class TenantGate {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #limits: GateLimits
  readonly #running = new Set<string>()
  /** Tenants that wait, in the order of their turns. */
  readonly #backlogs = new Map<string, Waiting[]>()
  #waiting = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>, limits: GateLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get limits(): GateLimits {
    return this.#limits
  }

  /** Runs the work when its turn comes, or says why it was not started. */
  async run<T>(origin: TaskOrigin, work: () => Promise<T>): Promise<Result<T, OverloadCause>> {
    const { tenant, signal } = origin
    const rejection = await this.#acquire(tenant, signal)
    if (rejection !== undefined) return err(rejection)
    try {
      return ok(await work())
    } finally {
      this.#running.delete(tenant)
      this.#startNext()
    }
  }

  /** Undefined when the work may start. */
  #acquire(tenant: string, signal: AbortSignal | undefined): Promise<OverloadCause | undefined> {
    return new Promise((settle, fail) => {
      if (this.#isFreeFor(tenant)) {
        this.#running.add(tenant)
        return settle(undefined)
      }
      const backlog = this.#backlogs.get(tenant) ?? []
      if (this.#waiting >= this.#limits.waitingMax) return settle('full')
      if (backlog.length >= this.#limits.waitingPerTenantMax) return settle('tenant-full')
      const waiting: Waiting = {
        queuedMs: this.#clock.monotonicMs(),
        start: () => settle(undefined),
        reject: settle,
      }
      backlog.push(waiting)
      this.#backlogs.set(tenant, backlog)
      this.#waiting++
      signal?.addEventListener('abort', () => this.#cancel(tenant, waiting, fail), { once: true })
    })
  }

  #isFreeFor(tenant: string): boolean {
    return (
      this.#running.size < this.#limits.runningMax &&
      !this.#running.has(tenant) &&
      !this.#backlogs.has(tenant)
    )
  }

  #cancel(tenant: string, waiting: Waiting, fail: (thrown: Error) => void): void {
    const backlog = this.#backlogs.get(tenant) ?? []
    const at = backlog.indexOf(waiting)
    if (at < 0) return
    backlog.splice(at, 1)
    this.#waiting--
    if (backlog.length === 0) this.#backlogs.delete(tenant)
    fail(new Fault('cancelled', 'The caller closed the connection before its work was started'))
  }

  #startNext(): void {
    for (const [tenant, backlog] of this.#backlogs) {
      if (this.#running.size >= this.#limits.runningMax) return
      if (this.#running.has(tenant)) continue
      const waiting = this.#takeInTime(backlog)
      // The tenant goes behind the others; a tenant without work leaves.
      this.#backlogs.delete(tenant)
      if (backlog.length > 0) this.#backlogs.set(tenant, backlog)
      if (waiting === undefined) continue
      this.#running.add(tenant)
      waiting.start()
    }
  }

  /** The oldest work of a tenant that has not waited too long. */
  #takeInTime(backlog: Waiting[]): Waiting | undefined {
    const nowMs = this.#clock.monotonicMs()
    for (let waiting = backlog.shift(); waiting !== undefined; waiting = backlog.shift()) {
      this.#waiting--
      if (nowMs - waiting.queuedMs <= this.#limits.waitMsMax) return waiting
      waiting.reject('waited-too-long')
    }
    return undefined
  }
}
