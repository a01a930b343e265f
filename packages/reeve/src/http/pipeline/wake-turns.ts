import { LIMITS } from '../../model/index.ts'

/** Resolves when the tenant has its next turn on the event loop. */
export type Turn = (tenant: string) => Promise<void>

/**
 * Lets parked queries that are woken together go on a few at a time, in turns of their tenant:
 * others are served in between, however many queries one commit concerns.
 */
export class WakeTurns {
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Resolves in one of the next turns of the tenant, in order. */
  next(tenant: string, turn: Turn): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(tenant)
      if (queue !== undefined) return void queue.push(resolve)
      this.#waiting.set(tenant, [resolve])
      void this.#run(tenant, turn)
    })
  }

  async #run(tenant: string, turn: Turn): Promise<void> {
    for (;;) {
      await turn(tenant)
      const queue = this.#waiting.get(tenant) ?? []
      for (const resolve of queue.splice(0, LIMITS.parkedQueriesPerTurn)) resolve()
      if (queue.length > 0) continue
      this.#waiting.delete(tenant)
      return
    }
  }
}
