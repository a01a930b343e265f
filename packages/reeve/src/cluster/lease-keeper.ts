import type { Clock } from '@reeve/kit/clock.ts'
import {
  FOLLOWER,
  hearOfLease,
  isLeading,
  LEASE,
  type LeaseNews,
  type LeaseSettings,
  type Leadership,
} from './lease.ts'
import type { LeaseClaim, LeaseHeld, LeaseStore } from './lease-store.ts'
import type { EntryId } from './log-history.ts'

export interface LeaseKeeperOptions {
  readonly store: LeaseStore
  /** This process. */
  readonly holder: string
  /** Where others reach this server; asked when the lease is taken. */
  readonly address: () => string
  /** The last entry that this server has applied. */
  readonly applied?: () => EntryId
  readonly clock: Clock
  /** A clock that never jumps. */
  readonly monotonicMs: () => number
  readonly settings?: LeaseSettings
  /** Called at every change, also when the time ran out without a word from the storage. */
  readonly changed: (leadership: Leadership) => void
  /** The storage did not answer. */
  readonly failed: (thrown: unknown) => void
  /** It did, whatever it said. */
  readonly answered?: () => void
}

/**
 * Looks after the lease: takes it when it is free, renews it well inside, and stops leading when it
 * ran out, whether the storage says so, says nothing, or this process slept.
 */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions
  readonly #settings: LeaseSettings
  #leadership: Leadership = FOLLOWER
  #running: Promise<void> | undefined
  #cancel: () => void = () => undefined
  #cancelExpiry: () => void = () => undefined
  #stopped = false
  #confirming: Promise<boolean> = Promise.resolve(true)
  #nextConfirm: Promise<boolean> | undefined

  constructor(options: LeaseKeeperOptions) {
    this.#options = options
    this.#settings = options.settings ?? LEASE
  }

  get leadership(): Leadership {
    return this.#leadership
  }

  /** Whether this server may answer as the leader at this very moment. */
  isLeading(): boolean {
    return isLeading(this.#leadership, this.#options.monotonicMs())
  }

  /** Asks for the lease after this time, then again and again. */
  start(afterMs = 0): void {
    this.#schedule(afterMs)
  }

  /**
   * Asks the storage whether the lease is still ours, for a read that must be. Whoever comes while
   * a question is under way shares the next one: it is asked after all of them came, and however
   * many they are, they cannot keep the lease from being renewed.
   */
  async confirm(): Promise<boolean> {
    if (!this.isLeading()) return false
    this.#nextConfirm ??= this.#confirming.then(() => {
      this.#nextConfirm = undefined
      this.#confirming = this.#confirmNow()
      return this.#confirming
    })
    return await this.#nextConfirm
  }

  async #confirmNow(): Promise<boolean> {
    const wasRenewed = await this.#renew()
    return wasRenewed && this.isLeading()
  }

  /** Gives the lease back. Whoever calls it has stopped writing. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    this.#cancelExpiry()
    await this.#running
    if (this.#leadership.role !== 'leader') return
    const held = this.#leadership
    this.#leadership = FOLLOWER
    await this.#options.store.release(held).catch(this.#options.failed)
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#running = this.#turn().finally(() => {
        const { renewMs, pollMs } = this.#settings
        if (this.#leadership.role === 'deposed') return
        this.#schedule(this.#leadership.role === 'leader' ? renewMs : pollMs)
      })
    })
  }

  async #turn(): Promise<void> {
    if (this.#leadership.role === 'leader') await this.#renew()
    else await this.#acquire()
  }

  async #acquire(): Promise<void> {
    const sentMs = this.#options.monotonicMs()
    const taken = await this.#ask(() => this.#options.store.acquire(this.#claim()))
    if (taken === NO_ANSWER) return
    this.#hear(
      taken === undefined
        ? { kind: 'held-by-another' }
        : { kind: 'acquired', term: taken.term, sentMs },
    )
    // Too late to be used: give it back rather than keep everybody waiting.
    if (taken !== undefined && this.#leadership.role === 'follower') await this.#giveBack(taken)
  }

  async #giveBack(held: LeaseHeld): Promise<void> {
    await this.#ask(() => this.#options.store.release(held))
  }

  /** Whether the storage said that it is ours. */
  async #renew(): Promise<boolean> {
    const held = this.#leadership
    if (held.role !== 'leader') return false
    const sentMs = this.#options.monotonicMs()
    const isOurs = await this.#ask(() => this.#options.store.renew(held, this.#claim()))
    if (isOurs === NO_ANSWER) this.#hear({ kind: 'no-answer' })
    else this.#hear(isOurs ? { kind: 'renewed', sentMs } : { kind: 'lost' })
    return isOurs === true
  }

  async #ask<T>(question: () => Promise<T>): Promise<T | typeof NO_ANSWER> {
    try {
      const answer = await question()
      this.#options.answered?.()
      return answer
    } catch (thrown) {
      this.#options.failed(thrown)
      return NO_ANSWER
    }
  }

  #claim(): LeaseClaim {
    const { holder, address, applied } = this.#options
    const claim = { holder, address: address(), ttlMs: this.#settings.ttlMs }
    return applied === undefined ? claim : { ...claim, applied: applied() }
  }

  #hear(news: LeaseNews): void {
    const before = this.#leadership
    const nowMs = this.#options.monotonicMs()
    const after = hearOfLease(before, news, { ttlMs: this.#settings.ttlMs, nowMs })
    this.#leadership = after
    this.#watchExpiry()
    if (after.role !== before.role) this.#options.changed(after)
  }

  /** An answer that hangs must not keep a leader whose time is over in office. */
  #watchExpiry(): void {
    this.#cancelExpiry()
    if (this.#leadership.role !== 'leader' || this.#stopped) return
    const leftMs = Math.max(0, this.#leadership.untilMs - this.#options.monotonicMs())
    this.#cancelExpiry = this.#options.clock.after(leftMs, () => this.#hear({ kind: 'no-answer' }))
  }
}

const NO_ANSWER = Symbol('no answer')
