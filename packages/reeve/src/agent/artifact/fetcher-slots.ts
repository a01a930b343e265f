import { AGENT_LIMITS } from '../limits.ts'

interface FetcherLimits {
  /** Fetchers of the node. */
  readonly fetchersMax: number
  readonly perNamespaceMax: number
}

interface FetcherWaiter {
  readonly namespace: string
  readonly admit: (slot: number) => void
}

const DEFAULT_FETCHER_LIMITS: FetcherLimits = {
  fetchersMax: AGENT_LIMITS.artifactFetchersMax,
  perNamespaceMax: AGENT_LIMITS.artifactFetchersPerNamespaceMax,
}

/**
 * Bounds the fetcher processes of a node. A namespace has a bound of its own: its downloads that
 * stall leave slots to the others. Within the bounds the order of arrival holds.
 */
export class FetcherSlots {
  readonly #limits: FetcherLimits
  /** By slot number, the namespace that holds it. */
  readonly #namespaceBySlot = new Map<number, string>()
  #waiting: readonly FetcherWaiter[] = []

  constructor(limits: FetcherLimits = DEFAULT_FETCHER_LIMITS) {
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
      this.#namespaceBySlot.delete(slot)
      this.#admitNext()
    }
  }

  async #acquire(namespace: string, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const waiter: FetcherWaiter = { namespace, admit: resolve }
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
      if (this.#namespaceBySlot.size >= this.#limits.fetchersMax) return
      const namespaceSlots = [...this.#namespaceBySlot.values()].filter(
        (holder) => holder === waiter.namespace,
      )
      if (namespaceSlots.length >= this.#limits.perNamespaceMax) continue
      this.#waiting = this.#waiting.filter((other) => other !== waiter)
      const slot = this.#lowestFreeSlot()
      this.#namespaceBySlot.set(slot, waiter.namespace)
      waiter.admit(slot)
    }
  }

  #lowestFreeSlot(): number {
    let slot = 0
    while (this.#namespaceBySlot.has(slot)) slot += 1
    return slot
  }
}
