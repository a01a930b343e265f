/**
 * A rate limiter that refills by `perSecond` up to `burst`. It may go below zero; callers then
 * wait.
 */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #tokens: number
  #refilledMs: number

  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#tokens = burst
    this.#refilledMs = nowMs
  }

  /** Takes the amount even if too few tokens are left. */
  take(amount: number, nowMs: number): void {
    this.#refill(nowMs)
    this.#tokens -= amount
  }

  /** Takes the amount if enough tokens are left. */
  tryTake(amount: number, nowMs: number): boolean {
    this.#refill(nowMs)
    if (this.#tokens < amount) return false
    this.#tokens -= amount
    return true
  }

  /** Milliseconds until the balance is no longer negative; 0 if it is not. */
  waitMs(nowMs: number): number {
    this.#refill(nowMs)
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens * 1_000) / this.#perSecond)
  }

  /** Milliseconds until `amount` tokens can be taken; 0 if they can be taken now. */
  waitForMs(amount: number, nowMs: number): number {
    this.#refill(nowMs)
    return Math.max(0, ((amount - this.#tokens) * 1_000) / this.#perSecond)
  }

  isFull(nowMs: number): boolean {
    this.#refill(nowMs)
    return this.#tokens >= this.#burst
  }

  #refill(nowMs: number): void {
    const gained = (Math.max(0, nowMs - this.#refilledMs) * this.#perSecond) / 1_000
    this.#tokens = Math.min(this.#burst, this.#tokens + gained)
    this.#refilledMs = nowMs
  }
}
