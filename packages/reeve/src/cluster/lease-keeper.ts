import type { Clock } from '@reeve/kit/clock.ts'
import {
  FOLLOWER,
  nextLeadership,
  isLeading,
  DEFAULT_LEASE_TIMING,
  type LeaseEvent,
  type LeaseTiming,
  type Leadership,
} from './lease.ts'
import type { LeaseClaim, LeaseHeld, LeaseStore } from './lease-store.ts'
import type { EntryId } from './log-history.ts'

export interface LeaseKeeperOptions {
  readonly store: LeaseStore
  /** Id of this process. */
  readonly holder: string
  /** Advertised address of this server, read when the lease is acquired. */
  readonly address: () => string
  /** Id of the last entry that this server has applied. */
  readonly applied?: () => EntryId
  readonly clock: Clock
  /** A clock that never jumps. */
  readonly monotonicMs: () => number
  readonly settings?: LeaseTiming
  /** Called at every change, including an expiry without a response of the storage. */
  readonly onChange: (leadership: Leadership) => void
  /** Called when the storage did not respond. */
  readonly onError: (thrown: unknown) => void
  /** Called when the storage responded, whatever the result. */
  readonly onResponse?: () => void
}

/**
 * Acquires the lease when it is free, renews it well before it expires, and stops leading when it
 * has expired: because the storage says so, does not respond, or this process was suspended.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  readonly #settings: LeaseTiming
  #leadership: Leadership = FOLLOWER
  #running: Promise<void> | undefined
  #cancel: () => void = () => undefined
  #cancelExpiry: () => void = () => undefined
  #stopped = false
  #currentCheck: Promise<boolean> = Promise.resolve(true)
  #nextCheck: Promise<boolean> | undefined

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#settings = options.settings ?? DEFAULT_LEASE_TIMING
  }

  get leadership(): Leadership {
    return this.#leadership
  }

  /** Reports whether this server may act as the leader at this moment. */
  isLeading(): boolean {
    return isLeading(this.#leadership, this.#options.monotonicMs())
  }

  /** Requests the lease after this time, then periodically. */
  start(afterMs = 0): void {
    this.#schedule(afterMs)
  }

  /**
   * Checks with the storage that this server still holds the lease, for linearizable reads. Callers
   * during a check share the next one, which starts after all of them arrived; so any number of
   * callers cannot delay renewals.
   */
  async confirmLease(): Promise<boolean> {
    if (!this.isLeading()) return false
    this.#nextCheck ??= this.#currentCheck.then(() => {
      this.#nextCheck = undefined
      this.#currentCheck = this.#checkNow()
      return this.#currentCheck
    })
    return await this.#nextCheck
  }

  async #checkNow(): Promise<boolean> {
    const wasRenewed = await this.#renew()
    return wasRenewed && this.isLeading()
  }

  /** Releases the lease. The caller has stopped writing. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    this.#cancelExpiry()
    await this.#running
    if (this.#leadership.role !== 'leader') return
    const leadership = this.#leadership
    this.#leadership = FOLLOWER
    await this.#options.store.release(leadership).catch(this.#options.onError)
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#running = this.#tick().finally(() => {
        const { renewMs, pollMs } = this.#settings
        if (this.#leadership.role === 'deposed') return
        this.#schedule(this.#leadership.role === 'leader' ? renewMs : pollMs)
      })
    })
  }

  async #tick(): Promise<void> {
    if (this.#leadership.role === 'leader') await this.#renew()
    else await this.#acquire()
  }

  async #acquire(): Promise<void> {
    const sentMs = this.#options.monotonicMs()
    const acquired = await this.#call(() => this.#options.store.acquire(this.#claim()))
    if (acquired === NO_RESPONSE) return
    this.#apply(
      acquired === undefined
        ? { kind: 'held-by-another' }
        : { kind: 'acquired', term: acquired.term, sentMs },
    )
    // The lease is too old to be used: release it so that others need not wait for its expiry.
    if (acquired !== undefined && this.#leadership.role === 'follower')
      await this.#release(acquired)
  }

  async #release(lease: LeaseHeld): Promise<void> {
    await this.#call(() => this.#options.store.release(lease))
  }

  /** Resolves with true if the storage has renewed the lease. */
  async #renew(): Promise<boolean> {
    const leadership = this.#leadership
    if (leadership.role !== 'leader') return false
    const sentMs = this.#options.monotonicMs()
    const wasRenewed = await this.#call(() => this.#options.store.renew(leadership, this.#claim()))
    if (wasRenewed === NO_RESPONSE) this.#apply({ kind: 'no-answer' })
    else this.#apply(wasRenewed ? { kind: 'renewed', sentMs } : { kind: 'lost' })
    return wasRenewed === true
  }

  async #call<T>(request: () => Promise<T>): Promise<T | typeof NO_RESPONSE> {
    try {
      const answer = await request()
      this.#options.onResponse?.()
      return answer
    } catch (thrown) {
      this.#options.onError(thrown)
      return NO_RESPONSE
    }
  }

  #claim(): LeaseClaim {
    const { holder, address, applied } = this.#options
    const claim = { holder, address: address(), ttlMs: this.#settings.ttlMs }
    return applied === undefined ? claim : { ...claim, applied: applied() }
  }

  #apply(event: LeaseEvent): void {
    const before = this.#leadership
    const nowMs = this.#options.monotonicMs()
    const after = nextLeadership(before, event, { ttlMs: this.#settings.ttlMs, nowMs })
    this.#leadership = after
    this.#watchExpiry()
    if (after.role !== before.role) this.#options.onChange(after)
  }

  /** Steps down at the expiry even if a request to the storage never returns. */
  #watchExpiry(): void {
    this.#cancelExpiry()
    if (this.#leadership.role !== 'leader' || this.#stopped) return
    const leftMs = Math.max(0, this.#leadership.validUntilMs - this.#options.monotonicMs())
    this.#cancelExpiry = this.#options.clock.after(leftMs, () => this.#apply({ kind: 'no-answer' }))
  }
}

const NO_RESPONSE = Symbol('no answer')
