import type { AllocationServices, OfferedService, ServicesMessage } from '@reeve/contract'

/** Texts of one message; a character is at most three bytes, and a message at most 8 MiB. */
const MESSAGE_CHARS_MAX = 1024 * 1024

/**
 * What the servers have yet to be told about services. One message is on its way at a time; what an
 * allocation offers meanwhile replaces what was waiting for it. A new channel is told everything,
 * and at the end who there is, so that servers and node agree whatever either forgot.
 */
export class ServiceOutbox {
  /** What each allocation offers. Those that offer nothing are only in `#waiting`. */
  readonly #offered = new Map<string, readonly OfferedService[]>()
  readonly #waiting = new Set<string>()
  /** Allocations whose services are not known again yet; what the servers have of them stays. */
  readonly #unsettled = new Set<string>()
  #inFlight: number | undefined
  #seq = 0
  #isRollDue = false

  /** What an allocation offers from now on. */
  offer(allocation: string, services: readonly OfferedService[]): void {
    if (services.length === 0) this.#offered.delete(allocation)
    else this.#offered.set(allocation, services)
    this.#waiting.add(allocation)
  }

  /** Nothing is said of the allocation until it is settled. */
  hold(allocation: string): void {
    this.#unsettled.add(allocation)
  }

  settle(allocation: string): void {
    this.#unsettled.delete(allocation)
  }

  /** A new channel: nothing is on its way, and everything is told again. */
  restart(): void {
    this.#inFlight = undefined
    this.#seq = 0
    for (const allocation of this.#offered.keys()) this.#waiting.add(allocation)
    this.#isRollDue = true
  }

  /** The next message, when none is on its way and there is something to tell. */
  next(): ServicesMessage | undefined {
    if (this.#inFlight !== undefined) return undefined
    const sets: AllocationServices[] = []
    let chars = 0
    let isFull = false
    for (const allocation of this.#waiting) {
      if (this.#unsettled.has(allocation)) continue
      const set = { allocation, services: this.#offered.get(allocation) ?? [] }
      const size = JSON.stringify(set).length
      isFull = sets.length > 0 && chars + size > MESSAGE_CHARS_MAX
      if (isFull) break
      this.#waiting.delete(allocation)
      sets.push(set)
      chars += size
    }
    const isRoll = this.#isRollDue && !isFull
    if (sets.length === 0 && !isRoll) return undefined
    if (isRoll) this.#isRollDue = false
    this.#seq += 1
    this.#inFlight = this.#seq
    const all = [...new Set([...this.#offered.keys(), ...this.#unsettled])]
    return { kind: 'services', seq: this.#seq, sets, ...(isRoll ? { all } : {}) }
  }

  /** True when this was the receipt that the next message waited for. */
  acknowledge(seq: number): boolean {
    if (this.#inFlight !== seq) return false
    this.#inFlight = undefined
    return true
  }
}
