/**
 * A rate limiter that refills by `perSecond` up to `burst`. It may go below zero; callers then
 * wait.
 */
export class TokenBucket {
  readonly #perSecond: number
  readonly #burst: number
  #left: number
  #sinceMs: number

  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#left = burst
    this.#sinceMs = nowMs
  }

  /** Takes the amount even if too few tokens are left. */
  take(amount: number, nowMs: number): void {
    this.#refill(nowMs)
    this.#left -= amount
  }

  /** Takes the amount if enough tokens are left. */
  takeIfLeft(amount: number, nowMs: number): boolean {
    this.#refill(nowMs)
    if (this.#left < amount) return false
    this.#left -= amount
    return true
  }

  /** Milliseconds until the balance is no longer negative; 0 if it is not. */
  waitMs(nowMs: number): number {
    this.#refill(nowMs)
    return this.#left >= 0 ? 0 : Math.ceil((-this.#left * 1_000) / this.#perSecond)
  }

  isFull(nowMs: number): boolean {
    this.#refill(nowMs)
    return this.#left >= this.#burst
  }

  #refill(nowMs: number): void {
    const gained = (Math.max(0, nowMs - this.#sinceMs) * this.#perSecond) / 1_000
    this.#left = Math.min(this.#burst, this.#left + gained)
    this.#sinceMs = nowMs
  }
}
