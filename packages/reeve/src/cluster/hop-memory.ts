/** Longer than a forward header is valid, so two generations hold every valid nonce. */
const GENERATION_MS = 120_000
/** Nonces per generation; when it is full, the next generation begins early. */
const NONCES_MAX = 200_000

/**
 * Remembers used nonces and their connections, so that a captured forward header cannot be
 * replayed. The same connection may use its nonce again: a request that waited is processed twice.
 */
export class NonceCache {
  #current = new Map<string, number>()
  #previous = new Map<string, number>()
  readonly #connectionIds = new WeakMap<object, number>()
  #lastConnectionId = 0
  #currentSinceMs = 0

  /**
   * Reports whether the connection may use the nonce: it is new, or the same connection used it.
   */
  useOnce(nonce: string, connection: object, nowMs: number): boolean {
    if (nowMs - this.#currentSinceMs > GENERATION_MS || this.#current.size >= NONCES_MAX) {
      this.#previous = this.#current
      this.#current = new Map()
      this.#currentSinceMs = nowMs
    }
    const usedBy = this.#current.get(nonce) ?? this.#previous.get(nonce)
    if (usedBy !== undefined) return usedBy === this.#connectionIds.get(connection)
    this.#current.set(nonce, this.#connectionIdOf(connection))
    return true
  }

  #connectionIdOf(connection: object): number {
    const id = this.#connectionIds.get(connection) ?? ++this.#lastConnectionId
    this.#connectionIds.set(connection, id)
    return id
  }
}
