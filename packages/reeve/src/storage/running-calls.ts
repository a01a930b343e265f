import { Fault } from '@reeve/kit/fault.ts'

/** Tracks in-flight calls of an engine: closing waits for them and rejects later ones. */
export class InFlightCalls {
  readonly #idle = Promise.withResolvers<void>()
  #closed = false
  #count = 0

  /** Runs a call. Rejects with `storage-closed` once closing began. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new Fault('storage-closed', 'The storage engine is closed.')
    this.#count++
    try {
      return await call()
    } finally {
      this.#count--
      this.#resolveIfIdle()
    }
  }

  /** Rejects later calls and resolves when the running ones have settled. */
  async close(): Promise<void> {
    this.#closed = true
    this.#resolveIfIdle()
    await this.#idle.promise
  }

  #resolveIfIdle(): void {
    if (this.#closed && this.#count === 0) this.#idle.resolve()
  }
}
