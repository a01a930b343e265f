/** Refills by `perSecond` up to `burst`. It may go below zero: debts are paid by waiting. */
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

  /** Takes it whatever is left. */
  take(amount: number, nowMs: number): void {
    this.#refill(nowMs)
    this.#left -= amount
  }

  /** Takes it if there is that much left. */
  takeIfLeft(amount: number, nowMs: number): boolean {
    this.#refill(nowMs)
    if (this.#left < amount) return false
    this.#left -= amount
    return true
  }

  /** How long until there is something left; 0 when there is now. */
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
