import { AGENT_LIMITS } from '../limits.ts'

interface SlotLimits {
  /** Fetchers of the node. */
  readonly total: number
  readonly perNamespace: number
}

interface Waiter {
  readonly namespace: string
  readonly admit: (slot: number) => void
}

const DEFAULT_LIMITS: SlotLimits = {
  total: AGENT_LIMITS.artifactFetchersMax,
  perNamespace: AGENT_LIMITS.artifactFetchersPerNamespaceMax,
}

/**
 * Bounds the fetcher processes of a node. A namespace has a bound of its own: its downloads that
 * stall leave slots to the others. Within the bounds the order of arrival holds.
 */
export class FetcherSlots {
  readonly #limits: SlotLimits
  /** By slot number, the namespace that holds it. */
  readonly #held = new Map<number, string>()
  #waiting: readonly Waiter[] = []

  constructor(limits: SlotLimits = DEFAULT_LIMITS) {
    this.#limits = limits
  }

  /** Waits for a slot; the signal ends the wait. */
  async run<T>(
    namespace: string,
    signal: AbortSignal,
    work: (slot: number) => Promise<T>,
  ): Promise<T> {
    const slot = await this.#acquire(namespace, signal)
    try {
      return await work(slot)
    } finally {
      this.#held.delete(slot)
      this.#admitNext()
    }
  }

  async #acquire(namespace: string, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const waiter: Waiter = { namespace, admit: resolve }
    const abandon = (): void => {
      this.#waiting = this.#waiting.filter((other) => other !== waiter)
      reject(signal.reason)
    }
    signal.addEventListener('abort', abandon, { once: true })
    this.#waiting = [...this.#waiting, waiter]
    this.#admitNext()
    return promise.finally(() => signal.removeEventListener('abort', abandon))
  }

  #admitNext(): void {
    for (const waiter of this.#waiting) {
      if (this.#held.size >= this.#limits.total) return
      const own = [...this.#held.values()].filter((holder) => holder === waiter.namespace)
      if (own.length >= this.#limits.perNamespace) continue
      this.#waiting = this.#waiting.filter((other) => other !== waiter)
      const slot = this.#freeSlot()
      this.#held.set(slot, waiter.namespace)
      waiter.admit(slot)
    }
  }

  #freeSlot(): number {
    let slot = 0
    while (this.#held.has(slot)) slot += 1
    return slot
  }
}
