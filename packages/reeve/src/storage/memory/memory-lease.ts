import type { LeaseClaim, LeaseStatus, LeaseHeld, LeaseStore } from '../../cluster/index.ts'

/** A lease for tests and simulation; uses the clock of its owner. */
export class MemoryLease implements LeaseStore {
  readonly #nowMs: () => number
  #term = 0
  #holder = ''
  #address = ''
  #expiresMs = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async acquire({ holder, address, ttlMs }: LeaseClaim): Promise<LeaseHeld | undefined> {
    if (this.#expiresMs > this.#nowMs() && this.#holder !== holder) return undefined
    this.#term++
    this.#holder = holder
    this.#address = address
    this.#expiresMs = this.#nowMs() + ttlMs
    return { term: this.#term }
  }

  async renew({ term }: LeaseHeld, { holder, ttlMs }: LeaseClaim): Promise<boolean> {
    if (this.#term !== term || this.#holder !== holder) return false
    if (this.#expiresMs <= this.#nowMs()) return false
    this.#expiresMs = this.#nowMs() + ttlMs
    return true
  }

  async release({ term }: LeaseHeld): Promise<void> {
    if (this.#term !== term) return
    this.#expiresMs = this.#nowMs()
    this.#address = ''
  }

  async read(): Promise<LeaseStatus> {
    const leftMs = Math.max(0, this.#expiresMs - this.#nowMs())
    return { term: this.#term, holder: this.#holder, address: this.#address, remainingMs: leftMs }
  }
}
