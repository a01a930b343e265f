/**
 * Runs an operation, never twice at once. Callers during a run share the next one, which starts
 * after their call and therefore sees all their changes.
 */
export class CoalescedRun {
  readonly #work: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  run(): Promise<void> {
    if (this.#running === undefined) return this.#startRun()
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.#startRun()
      })
    return this.#next
  }

  #startRun(): Promise<void> {
    const running = this.#work().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }
}
