import type { Clock } from '@reeve/kit/clock.ts'
import type { EntryId } from './log-history.ts'

/** Duration and intervals of the lease. */
interface LeaseTiming {
  readonly ttlMs: number
  /** Renewal interval of the leader: several attempts fit into one lease. */
  readonly renewMs: number
  /** Interval at which a follower tries to acquire the lease. */
  readonly pollMs: number
}

/** A killed leader is replaced within the lease and one poll: well under five seconds. */
export const DEFAULT_LEASE_TIMING: LeaseTiming = { ttlMs: 3_000, renewMs: 750, pollMs: 250 }

/** Fraction of the lease by which clocks may drift apart, network delay included. */
const CLOCK_DRIFT_MARGIN = 0.1

/** Role of this server. Times are of a clock that never jumps. */
export type Leadership =
  | { readonly role: 'follower' }
  | {
      readonly role: 'leader'
      readonly term: number
      /** From this time on the server does not act as leader, whatever the storage says. */
      readonly validUntilMs: number
    }
  /** The server has lost the leadership. Its memory may be ahead of the log. */
  | { readonly role: 'deposed'; readonly term: number }

/** A lease event. `sentMs` is the time of the request: the storage counts from a later moment. */
export type LeaseEvent =
  | { readonly kind: 'acquired'; readonly term: number; readonly sentMs: number }
  | { readonly kind: 'held-by-another' }
  | { readonly kind: 'renewed'; readonly sentMs: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'no-answer' }

export const FOLLOWER: Leadership = { role: 'follower' }

/**
 * Returns the next state after a lease event. `deposed` is final; only `acquired` makes a leader.
 */
export function nextLeadership(
  current: Leadership,
  event: LeaseEvent,
  { ttlMs, nowMs }: { readonly ttlMs: number; readonly nowMs: number },
): Leadership {
  const validUntil = (sentMs: number): number => sentMs + ttlMs * (1 - CLOCK_DRIFT_MARGIN)
  if (current.role === 'deposed') return current
  if (current.role === 'follower') {
    if (event.kind !== 'acquired') return current
    // The response was so late that the lease may have expired: another server may lead already.
    const untilMs = validUntil(event.sentMs)
    return untilMs <= nowMs ? current : { role: 'leader', term: event.term, validUntilMs: untilMs }
  }
  const { term } = current
  if (event.kind === 'lost' || nowMs >= current.validUntilMs) return { role: 'deposed', term }
  if (event.kind !== 'renewed') return current
  return {
    role: 'leader',
    term,
    validUntilMs: Math.max(current.validUntilMs, validUntil(event.sentMs)),
  }
}

/** Reports whether the server may act as leader; to be checked before every response. */
export function isLeading(current: Leadership, nowMs: number): boolean {
  return current.role === 'leader' && nowMs < current.validUntilMs
}

/**
 * Stores leadership: one lease, in the same storage as the log. A new holder gets a new, higher
 * term, and from then on the storage rejects writes of earlier terms. The storage's clock decides
 * about expiry. One shared suite (test/suites/lease-store.ts) tests every implementation against
 * these comments. Faults are those of the storage.
 */
export interface LeaseStore {
  /**
   * Acquires the lease if it is free or the same holder has it. Undefined if another holder has it.
   * After a rejection it is unknown whether it was acquired; calling again settles it.
   */
  acquire(claim: LeaseClaim): Promise<LeaseHeld | undefined>

  /**
   * Extends the lease to `ttlMs` from now. Returns false if it has expired, belongs to another
   * holder, or the log lacks the claim's entry; that is final. An expired lease is not renewed: its
   * holder has already stopped leading, so a late renewal would only make the others wait.
   */
  renew(held: LeaseHeld, claim: LeaseClaim): Promise<boolean>

  /**
   * Releases the lease, so that the next holder need not wait for the expiry. No effect if it is
   * lost.
   */
  release(held: LeaseHeld): Promise<void>

  /** Returns the leader as of the response. */
  read(): Promise<LeaseStatus>
}

export interface LeaseClaim {
  /** Id of a process: a restarted server is another holder. */
  readonly holder: string
  /** Address at which other servers reach the holder over HTTP. */
  readonly address: string
  readonly ttlMs: number
  /**
   * The last entry that the holder has applied; it keeps the lease only while the log has this
   * entry.
   */
  readonly applied?: EntryId
}

export interface LeaseHeld {
  readonly term: number
}

export interface LeaseStatus extends LeaseHeld {
  readonly holder: string
  /** Empty if the lease was released. */
  readonly address: string
  /** Time until the expiry; 0 if it has expired. */
  readonly remainingMs: number
}

interface LeaseKeeperOptions {
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
