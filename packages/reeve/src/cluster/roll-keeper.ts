import type { Clock } from '@reeve/kit/clock.ts'
import { DEFAULT_HEARTBEAT, type HeartbeatTiming } from './roll.ts'
import type { ServerRecord, RegisteredServer, ServerState, ServerRegistry } from './roll-store.ts'

export interface ServerHeartbeatOptions {
  readonly store: ServerRegistry
  /**
   * Record of this server; read each time, because the address is known only when the port is open.
   */
  readonly record: () => Omit<ServerRecord, 'state'>
  readonly clock: Clock
  readonly settings?: HeartbeatTiming
  /** Called when the storage did not respond. */
  readonly onError: (thrown: unknown) => void
}

/** Sends the heartbeats of this server, and caches the records of the others. */
export class ServerHeartbeat {
  readonly #options: ServerHeartbeatOptions
  readonly #settings: HeartbeatTiming
  #state: ServerState = 'serving'
  /**
   * As of the last response. While the storage is away no server can send heartbeats, so silence
   * means nothing and ages do not grow.
   */
  #servers: readonly RegisteredServer[] = []
  #queue: Promise<void> = Promise.resolve()
  #cancel: () => void = () => undefined
  #isStopped = false

  constructor(options: ServerHeartbeatOptions) {
    this.#options = options
    this.#settings = options.settings ?? DEFAULT_HEARTBEAT
  }

  get self(): ServerRecord {
    return { ...this.#options.record(), state: this.#state }
  }

  get servers(): readonly RegisteredServer[] {
    return this.#servers
  }

  /** Resolves after the first heartbeat and read, successful or not. */
  async start(): Promise<void> {
    await this.#enqueue()
    this.#scheduleHeartbeat()
  }

  /**
   * Marks a server that has left or failed as left, or removes it; then reads the registry again.
   */
  async retire(name: string, prune: boolean): Promise<void> {
    const { store } = this.#options
    await store.retire(name, { prune, failedMs: this.#settings.failedMs })
    this.#servers = await store.list()
  }

  /** Announces that this server is about to stop. The caller need not wait. */
  announceLeaving(): void {
    this.#state = 'leaving'
    void this.#enqueue()
  }

  /** Records that this server has left, which is true when this resolves. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    this.#state = 'left'
    await this.#enqueue()
  }

  #scheduleHeartbeat(): void {
    if (this.#isStopped) return
    this.#cancel = this.#options.clock.after(this.#settings.intervalMs, () => {
      void this.#enqueue().then(() => this.#scheduleHeartbeat())
    })
  }

  /** Runs one write after the other, so that the last state wins. Never rejects. */
  #enqueue(): Promise<void> {
    this.#queue = this.#queue.then(() => this.#heartbeatAndRead())
    return this.#queue
  }

  async #heartbeatAndRead(): Promise<void> {
    const { store, onError } = this.#options
    try {
      await store.heartbeat(this.self, this.#settings)
      this.#servers = await store.list()
    } catch (thrown) {
      onError(thrown)
    }
  }
}
