import type { Clock } from '../src/clock.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  readonly wake: () => void
}

/** A clock that moves only when told. Timers fire in order of their time, then of their setting. */
export class SimulatedClock implements Clock {
  readonly #timers = new Set<Timer>()
  #nowMs: number
  /** How far the machine's clock was set forward since the beginning. */
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

  /** Somebody sets the machine's clock; no time passes. */
  jump(byMs: number): void {
    this.#jumpedMs += byMs
  }

  after(delayMs: number, wake: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, wake }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Moves on and fires what becomes due, timers set by timers included. */
  advance(byMs: number): void {
    const endMs = this.#nowMs + byMs
    for (let next = this.#nextDue(endMs); next !== undefined; next = this.#nextDue(endMs)) {
      this.#timers.delete(next)
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      next.wake()
    }
    this.#nowMs = endMs
  }

  /** The process stands still meanwhile: what became due fires afterwards, late. */
  pause(forMs: number): void {
    this.#nowMs += forMs
    this.advance(0)
  }

  #nextDue(endMs: number): Timer | undefined {
    const due = [...this.#timers].filter((timer) => timer.dueMs <= endMs)
    return due.toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0]
  }
}
