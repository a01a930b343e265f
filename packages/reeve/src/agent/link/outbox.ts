import type { AllocationUpdate } from '@reeve/contract'
import { storeTaskStates } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'

/** Texts of one report; a character is at most three bytes, and a message at most 8 MiB. */
const REPORT_CHARS_MAX = 2 * 1024 * 1024

export interface StatusReport {
  readonly seq: number
  /** The `status` message. */
  readonly text: string
}

/**
 * What the servers have yet to be told. One report is on its way at a time; whatever happens to an
 * allocation meanwhile replaces what was waiting for it, so a slow server costs memory per
 * allocation, not per event.
 */
export class Outbox {
  readonly #waiting = new Map<string, AllocationUpdate>()
  #inFlight: number | undefined
  #seq = 0

  offer(update: AllocationUpdate): void {
    this.#waiting.set(update.ID, update)
  }

  /** A new channel: nothing is on its way, and everything is told again. */
  restart(updates: readonly AllocationUpdate[]): void {
    this.#inFlight = undefined
    this.#seq = 0
    this.#waiting.clear()
    for (const update of updates) this.offer(update)
  }

  /** The next report, when none is on its way and there is something to tell. */
  next(): StatusReport | undefined {
    if (this.#inFlight !== undefined || this.#waiting.size === 0) return undefined
    const parts: string[] = []
    let chars = 0
    for (const [id, update] of this.#waiting) {
      const part = encode(update)
      const isFull = parts.length >= AGENT_LIMITS.reportedAllocationsMax
      if (parts.length > 0 && (isFull || chars + part.length > REPORT_CHARS_MAX)) break
      parts.push(part)
      chars += part.length
      this.#waiting.delete(id)
    }
    this.#seq += 1
    this.#inFlight = this.#seq
    const text = `{"kind":"status","seq":${this.#seq},"updates":[${parts.join(',')}]}`
    return { seq: this.#seq, text }
  }

  /** True when this was the receipt that the next report waited for. */
  acknowledge(seq: number): boolean {
    if (this.#inFlight !== seq) return false
    this.#inFlight = undefined
    return true
  }
}

/**
 * A group of thousands of tasks may have more history than a message holds: then only the last
 * event of each goes.
 */
function encode(whole: AllocationUpdate): string {
  const update = { ...whole, TaskStates: storeTaskStates(whole.TaskStates) }
  const text = JSON.stringify(update)
  if (text.length <= REPORT_CHARS_MAX) return text
  const trimmed = Object.entries(update.TaskStates ?? {}).map(([name, state]) => {
    return [name, { ...state, Events: state.Events?.slice(-1) }] as const
  })
  return JSON.stringify({ ...update, TaskStates: Object.fromEntries(trimmed) })
}
