/** A generation lasts longer than a hop is valid, so two of them hold every valid one. */
const GENERATION_MS = 120_000
/** Nonces of one generation; beyond them a new one begins early rather than to grow. */
const NONCES_MAX = 200_000

/**
 * Remembers which hops were used, and on which connection: a hop that was overheard says nothing
 * when it is sent again. A request that waited is read once more from its own connection.
 */
export class HopMemory {
  #young = new Map<string, number>()
  #old = new Map<string, number>()
  readonly #numbers = new WeakMap<object, number>()
  #lastNumber = 0
  #bornMs = 0

  /** Whether this connection may use the nonce: nobody did before, or this very connection. */
  take(nonce: string, connection: object, nowMs: number): boolean {
    if (nowMs - this.#bornMs > GENERATION_MS || this.#young.size >= NONCES_MAX) {
      this.#old = this.#young
      this.#young = new Map()
      this.#bornMs = nowMs
    }
    const user = this.#young.get(nonce) ?? this.#old.get(nonce)
    if (user !== undefined) return user === this.#numbers.get(connection)
    this.#young.set(nonce, this.#numberOf(connection))
    return true
  }

  #numberOf(connection: object): number {
    const known = this.#numbers.get(connection) ?? ++this.#lastNumber
    this.#numbers.set(connection, known)
    return known
  }
}
