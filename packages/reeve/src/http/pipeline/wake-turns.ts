import { LIMITS } from '../../model/index.ts'

/** Resolves when the tenant has its next turn on the event loop. */
export type Turn = (tenant: string) => Promise<void>

interface Waiting {
  readonly bytes: number
  readonly resolve: () => void
}

/**
 * Lets parked queries that are woken together go on a few at a time, in turns of their tenant:
 * others are served in between, however many queries one commit concerns.
 */
export class WakeTurns {
  readonly #waiting = new Map<string, Waiting[]>()

  /**
   * Resolves in one of the next turns of the tenant, in order.
   * @param bytes what the query writes in that turn; large responses share a turn with fewer others
   */
  next(tenant: string, turn: Turn, bytes = 0): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(tenant)
      if (queue !== undefined) return void queue.push({ bytes, resolve })
      this.#waiting.set(tenant, [{ bytes, resolve }])
      void this.#run(tenant, turn)
    })
  }

  async #run(tenant: string, turn: Turn): Promise<void> {
    for (;;) {
      await turn(tenant)
      const queue = this.#waiting.get(tenant) ?? []
      for (const { resolve } of queue.splice(0, turnLength(queue))) resolve()
      if (queue.length > 0) continue
      this.#waiting.delete(tenant)
      return
    }
  }
}

/** How many of the waiting queries go on in one turn: at least one, however large its response. */
function turnLength(queue: readonly Waiting[]): number {
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
