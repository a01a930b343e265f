import { LIMITS } from '../../model/index.ts'

/** Resolves when the tenant has its next turn on the event loop. */
export type Turn = (tenant: string) => Promise<void>

interface WokenQuery {
  readonly bytes: number
  readonly resolve: () => void
}

/**
 * Continues parked queries that were woken together a few at a time, in turns of their tenant:
 * other requests are served in between, however many queries one commit wakes.
 */
export class WakeQueue {
  readonly #waiting = new Map<string, WokenQuery[]>()

  /**
   * Resolves in one of the next turns of the tenant, in order. `bytes` is the size of the query's
   * response in that turn; large responses share a turn with fewer others.
   */
  next(tenant: string, turn: Turn, bytes = 0): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(tenant)
      if (queue !== undefined) return void queue.push({ bytes, resolve })
      this.#waiting.set(tenant, [{ bytes, resolve }])
      void this.#runTurns(tenant, turn)
    })
  }

  async #runTurns(tenant: string, turn: Turn): Promise<void> {
    for (;;) {
      await turn(tenant)
      const queue = this.#waiting.get(tenant) ?? []
      for (const { resolve } of queue.splice(0, queriesInTurn(queue))) resolve()
      if (queue.length > 0) continue
      this.#waiting.delete(tenant)
      return
    }
  }
}

/** Returns how many queries continue in one turn: at least one, however large its response. */
function queriesInTurn(queue: readonly WokenQuery[]): number {
  let length = 0
  let bytes = 0
  for (const waiting of queue) {
    if (length === LIMITS.parkedQueriesPerTurn) break
    bytes += waiting.bytes
    if (length > 0 && bytes > LIMITS.wokenBytesPerTurn) break
    length++
  }
  return length
}
