import type {
  AllocationServiceSet,
  AllocationUpdate,
  ReportedService,
  ServicesMessage,
} from '@reeve/contract'
import { compactTaskStates } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** Characters of one report; a character has at most three bytes, a message at most 8 MiB. */
const REPORT_CHARS_MAX = 2 * 1024 * 1024

export interface StatusReport {
  readonly seq: number
  /** The `status` message. */
  readonly json: string
}

/**
 * Status updates that still have to be sent. One report is in flight at a time; a newer update of
 * an allocation replaces the pending one, so a slow server costs memory per allocation, not per
 * event.
 */
export class StatusOutbox {
  readonly #pending = new Map<string, AllocationUpdate>()
  #inFlight: number | undefined
  #lastSeq = 0

  add(update: AllocationUpdate): void {
    this.#pending.set(update.ID, update)
  }

  /** Resets the outbox for a new channel: nothing is in flight, and every update is sent again. */
  reset(updates: readonly AllocationUpdate[]): void {
    this.#inFlight = undefined
    this.#lastSeq = 0
    this.#pending.clear()
    for (const update of updates) this.add(update)
  }

  /** Returns the next report if none is in flight and updates are pending. */
  next(): StatusReport | undefined {
    if (this.#inFlight !== undefined || this.#pending.size === 0) return undefined
    const encodedUpdates: string[] = []
    let chars = 0
    for (const [id, update] of this.#pending) {
      const encoded = encodeUpdate(update)
      const isFull = encodedUpdates.length >= AGENT_LIMITS.reportedAllocationsMax
      if (encodedUpdates.length > 0 && (isFull || chars + encoded.length > REPORT_CHARS_MAX)) break
      encodedUpdates.push(encoded)
      chars += encoded.length
      this.#pending.delete(id)
    }
    this.#lastSeq += 1
    this.#inFlight = this.#lastSeq
    const json = `{"kind":"status","seq":${this.#lastSeq},"updates":[${encodedUpdates.join(',')}]}`
    return { seq: this.#lastSeq, json }
  }

  /** Returns true if this acknowledges the report in flight. */
  acknowledge(seq: number): boolean {
    if (this.#inFlight !== seq) return false
    this.#inFlight = undefined
    return true
  }
}

/**
 * Serializes an update. If the history of thousands of tasks exceeds a message, only the last event
 * of each task is sent.
 */
function encodeUpdate(original: AllocationUpdate): string {
  const compacted = { ...original, TaskStates: compactTaskStates(original.TaskStates) }
  const json = JSON.stringify(compacted)
  if (json.length <= REPORT_CHARS_MAX) return json
  const trimmed = Object.entries(compacted.TaskStates ?? {}).map(([name, state]) => {
    return [name, { ...state, Events: state.Events?.slice(-1) }] as const
  })
  return JSON.stringify({ ...compacted, TaskStates: Object.fromEntries(trimmed) })
}

/** Characters of one message; a character has at most three bytes, a message at most 8 MiB. */
const MESSAGE_CHARS_MAX = 1024 * 1024

/**
 * Service updates that still have to be sent. One message is in flight at a time; newer services of
 * an allocation replace pending ones. A new channel gets everything and finally the full list of
 * allocations, so that servers and node agree.
 */
export class ServiceOutbox {
  /** Services by allocation. Allocations without services are only in `#waiting`. */
  readonly #services = new Map<string, readonly ReportedService[]>()
  readonly #pending = new Set<string>()
  /** Allocations whose services are not known again yet; the servers keep what they have. */
  readonly #deferred = new Set<string>()
  #inFlight: number | undefined
  #lastSeq = 0
  #isFullListDue = false

  /** Sets the services of an allocation. */
  setServices(allocation: string, services: readonly ReportedService[]): void {
    if (services.length === 0) this.#services.delete(allocation)
    else this.#services.set(allocation, services)
    this.#pending.add(allocation)
  }

  /** Defers updates of the allocation until it is released. */
  defer(allocation: string): void {
    this.#deferred.add(allocation)
  }

  release(allocation: string): void {
    this.#deferred.delete(allocation)
  }

  /** Resets the outbox for a new channel: nothing is in flight, and everything is sent again. */
  reset(): void {
    this.#inFlight = undefined
    this.#lastSeq = 0
    for (const allocation of this.#services.keys()) this.#pending.add(allocation)
    this.#isFullListDue = true
  }

  /** Returns the next message if none is in flight and updates are pending. */
  next(): ServicesMessage | undefined {
    if (this.#inFlight !== undefined) return undefined
    const sets: AllocationServiceSet[] = []
    let chars = 0
    let isFull = false
    for (const allocation of this.#pending) {
      if (this.#deferred.has(allocation)) continue
      const set = { allocation, services: this.#services.get(allocation) ?? [] }
      const size = JSON.stringify(set).length
      isFull = sets.length > 0 && chars + size > MESSAGE_CHARS_MAX
      if (isFull) break
      this.#pending.delete(allocation)
      sets.push(set)
      chars += size
    }
    const isFullList = this.#isFullListDue && !isFull
    if (sets.length === 0 && !isFullList) return undefined
    if (isFullList) this.#isFullListDue = false
    this.#lastSeq += 1
    this.#inFlight = this.#lastSeq
    const allocations = [...new Set([...this.#services.keys(), ...this.#deferred])]
    return {
      kind: 'services',
      seq: this.#lastSeq,
      sets,
      ...(isFullList ? { all: allocations } : {}),
    }
  }

  /** Returns true if this acknowledges the message in flight. */
  acknowledge(seq: number): boolean {
    if (this.#inFlight !== seq) return false
    this.#inFlight = undefined
    return true
  }
}
