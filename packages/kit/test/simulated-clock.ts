import type { Clock } from '../src/clock.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly wake: () => void
}

/**
 * A clock that advances only when told. Timers fire in the order of their due time, then of
 * creation.
 */
export class SimulatedClock implements Clock {
  readonly #timers = new Set<Timer>()
  #nowMs: number
  /** Total of all system clock adjustments. */
  #jumpedMs = 0
  #order = 0

  constructor(startMs = Date.parse('2026-01-01T00:00:00Z')) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs + this.#jumpedMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  /** Simulates setting the system clock; no time passes. */
  jump(byMs: number): void {
    this.#jumpedMs += byMs
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, wake }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Advances the time and fires due timers, including those set by timers. */
  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs
    for (let next = this.#nextDue(endMs); next !== undefined; next = this.#nextDue(endMs)) {
      this.#timers.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      next.wake()
    }
    this.#nowMs = endMs
  }

  /** Simulates a suspended process: timers that become due fire late, at the end. */
  pause(forMs: number): void {
    this.#nowMs += forMs
    this.advance(0)
  }

  #nextDue(endMs: number): Timer | undefined {
    const due = [...this.#timers].filter((timer) => timer.dueMs <= endMs)
    return due.toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0]
  }
}
