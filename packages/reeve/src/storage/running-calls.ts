import { Fault } from '@reeve/kit/fault.ts'

/** Counts an engine's running calls: closing waits for them and turns later ones away. */
export class RunningCalls {
  readonly #idle = Promise.withResolvers<void>()
  #closed = false
  #running = 0

  /** Runs a call. Rejects with `storage-closed` once closing began. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new Fault('storage-closed', 'The storage engine is closed.')
    this.#running++
    try {
      return await call()
    } finally {
      this.#running--
      this.#settle()
    }
  }

  /** Turns later calls away and resolves when the running ones have settled. */
  async close(): Promise<void> {
    this.#closed = true
    this.#settle()
    await this.#idle.promise
  }

  #settle(): void {
    if (this.#closed && this.#running === 0) this.#idle.resolve()
  }
}
