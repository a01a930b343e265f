import type { Clock } from '@reeve/kit/clock.ts'
import { ROLL, type RollSettings } from './roll.ts'
import type { RollEntry, RollFound, RollState, RollStore } from './roll-store.ts'

export interface RollKeeperOptions {
  readonly store: RollStore
  /** This server; asked each time, because its address is known when its port is open. */
  readonly entry: () => Omit<RollEntry, 'state'>
  readonly clock: Clock
  readonly settings?: RollSettings
  /** The storage did not answer. */
  readonly failed: (thrown: unknown) => void
}

/** Keeps this server on the roll, and what the roll says of the others. */
export class RollKeeper {
  readonly #options: RollKeeperOptions
  readonly #settings: RollSettings
  #state: RollState = 'serving'
  /**
   * As of the last answer. While the storage is away nobody can sign, so silence means nothing
   * and ages do not grow.
   */
  #found: readonly RollFound[] = []
  #turns: Promise<void> = Promise.resolve()
  #cancel: () => void = () => undefined
  #isStopped = false

  constructor(options: RollKeeperOptions) {
    this.#options = options
    this.#settings = options.settings ?? ROLL
  }

  get own(): RollEntry {
    return { ...this.#options.entry(), state: this.#state }
  }

  get found(): readonly RollFound[] {
    return this.#found
  }

  /** Resolves when it has signed and read, or could not. */
  async start(): Promise<void> {
    await this.#turn()
    this.#arm()
  }

  /** Marks a server that has left or failed as left, or removes it; then reads the roll again. */
  async retire(name: string, prune: boolean): Promise<void> {
    const { store } = this.#options
    await store.retire(name, { prune, failedMs: this.#settings.failedMs })
    this.#found = await store.read()
  }

  /** Says that this server is about to stop. Nobody needs to wait for it. */
  leave(): void {
    this.#state = 'leaving'
    void this.#turn()
  }

  /** Says that this server is gone, which it is when this resolves. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    this.#state = 'left'
    await this.#turn()
  }

  #arm(): void {
    if (this.#isStopped) return
    this.#cancel = this.#options.clock.after(this.#settings.signMs, () => {
      void this.#turn().then(() => this.#arm())
    })
  }

  /** One after the other: what a server said last is what stays. Never rejects. */
  #turn(): Promise<void> {
    this.#turns = this.#turns.then(() => this.#signAndRead())
    return this.#turns
  }

  async #signAndRead(): Promise<void> {
    const { store, failed } = this.#options
    try {
      await store.sign(this.own, this.#settings)
      this.#found = await store.read()
    } catch (thrown) {
      failed(thrown)
    }
  }
}
