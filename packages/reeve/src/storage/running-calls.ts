import { Fault } from '../kit/fault.ts'

/** Counts an engine's running calls, so that closing waits for them and later ones are turned away. */
export class RunningCalls {
  #closed = false
  #running = 0
  #idle: (() => void) | undefined

  /** Runs a call. Rejects with `storage-closed` once closing began. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new Fault('storage-closed', 'The storage engine is closed.')
    this.#running++
    try {
      return await call()
    } finally {
      this.#running--
      if (this.#running === 0) this.#idle?.()
    }
  }

  /** Turns later calls away and resolves when the running ones have settled. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#running === 0) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
    })
  }
}
