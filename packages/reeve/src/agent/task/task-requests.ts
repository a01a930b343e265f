import { PendingRestarts } from './restarts.ts'
import type { KillRequest } from './task-control.ts'

/**
 * Requests that the runner of a task has received: its admission, restarts, a kill, and the
 * shutdown of the agent. Each wait of the runner ends when one of them arrives.
 */
export class TaskRequests {
  readonly restarts = new PendingRestarts()
  #isAdmitted: boolean
  #admission = Promise.withResolvers<void>()
  #killRequest: KillRequest | undefined
  #isShutDown = false
  readonly #interruption = new AbortController()
  readonly #interrupted = Promise.withResolvers<void>()
  readonly #shutdown = Promise.withResolvers<void>()
  readonly #shutdownDelaySkipped = Promise.withResolvers<void>()

  constructor(options: { readonly isAdmitted: boolean }) {
    this.#isAdmitted = options.isAdmitted
  }

  /** Whether the task is allowed to start. */
  get isAdmitted(): boolean {
    return this.#isAdmitted
  }

  admit(): void {
    this.#isAdmitted = true
    this.#admission.resolve()
  }

  /** Returns the task to its start gate. */
  revokeAdmission(): void {
    this.#isAdmitted = false
    this.#admission = Promise.withResolvers<void>()
  }

  /** Resolves when the task is allowed to start, or is interrupted. */
  async waitForAdmission(): Promise<void> {
    while (!this.#isAdmitted && !this.#interruption.signal.aborted) {
      // A task that restarts from its gate while it waits has a new gate.
      await Promise.race([this.#admission.promise, ...this.interruptions])
      if (this.restarts.pending !== undefined) this.restarts.resolve()
    }
  }

  get killRequest(): KillRequest | undefined {
    return this.#killRequest
  }

  kill(request: KillRequest): void {
    this.#killRequest = request
    this.#interrupt()
  }

  get isShutDown(): boolean {
    return this.#isShutDown
  }

  /** Resolves when the agent stops. */
  get shutdown(): Promise<void> {
    return this.#shutdown.promise
  }

  shutDown(): void {
    this.#isShutDown = true
    this.#shutdown.resolve()
    this.#interrupt()
  }

  #interrupt(): void {
    this.#interruption.abort()
    this.#interrupted.resolve()
  }

  /** Aborted when the task is killed or the agent stops. */
  get signal(): AbortSignal {
    return this.#interruption.signal
  }

  /** Resolves when the task is killed or the agent stops. */
  get interrupted(): Promise<void> {
    return this.#interrupted.promise
  }

  /** The first of these to resolve ends a wait: a kill, a shutdown, or a restart. */
  get interruptions(): readonly Promise<void>[] {
    return [this.#interrupted.promise, this.restarts.requested]
  }

  /** Resolves when the servers request to skip the shutdown delay. */
  get shutdownDelaySkipped(): Promise<void> {
    return this.#shutdownDelaySkipped.promise
  }

  skipShutdownDelay(): void {
    this.#shutdownDelaySkipped.resolve()
  }
}
