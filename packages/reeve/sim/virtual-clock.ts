import type { Clock } from '@reeve/kit/clock.ts'
import { Heap } from '@reeve/kit/heap.ts'

interface Timer {
  readonly dueMs: number
  readonly order: number
  wake: (() => void) | undefined
}

const START_MS = Date.parse('2026-01-01T00:00:00Z')

/**
 * Simulated time. It stands still during work: a timer fires, all its consequences happen, and only
 * then the next timer fires.
 */
export class VirtualClock {
  readonly #timers = new Heap<Timer>((a, b) => a.dueMs - b.dueMs || a.order - b.order)
  #nowMs = START_MS
  #order = 0
  #fired = 0

  get nowMs(): number {
    return this.#nowMs
  }

  /** Time since the start of the world. */
  get elapsedMs(): number {
    return this.#nowMs - START_MS
  }

  /** Number of fired timers: the cost of a simulation. */
  get fired(): number {
    return this.#fired
  }

  after(delayMs: number, wake: () => void): () => void {
    const dueMs = this.#nowMs + Math.max(0, Math.ceil(delayMs))
    const timer: Timer = { dueMs, order: this.#order++, wake }
    this.#timers.push(timer)
    return () => {
      timer.wake = undefined
    }
  }

  /** Advances the time and fires due timers until the time is reached or `isOver` returns true. */
  async advance(byMs: number, isOver: () => boolean): Promise<void> {
    const endMs = this.#nowMs + byMs
    await turn()
    for (let next = this.#nextDue(endMs); next !== undefined; next = this.#nextDue(endMs)) {
      if (isOver()) return
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      this.#fired += 1
      next.wake?.()
      await turn()
    }
    this.#nowMs = endMs
  }

  #nextDue(endMs: number): Timer | undefined {
    for (let next = this.#timers.peek(); next !== undefined; next = this.#timers.peek()) {
      if (next.dueMs > endMs) return undefined
      this.#timers.pop()
      if (next.wake !== undefined) return next
    }
    return undefined
  }
}

/**
 * Lets all work happen that needs no time: an immediate runs when no promise can continue. The
 * product's own immediates run in order.
 */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * The clock of one process. Its timers die with it, and its wall clock can be set without affecting
 * them, as on a real machine.
 */
export class ProcessClock implements Clock {
  readonly #world: VirtualClock
  readonly #skew: { readonly ms: number }
  #isDead = false

  constructor(world: VirtualClock, skew: { readonly ms: number } = { ms: 0 }) {
    this.#world = world
    this.#skew = skew
  }

  nowMs(): number {
    return this.#world.nowMs + this.#skew.ms
  }

  monotonicMs(): number {
    return this.#world.elapsedMs
  }

  after(delayMs: number, wake: () => void): () => void {
    if (this.#isDead) return () => undefined
    return this.#world.after(delayMs, () => {
      if (!this.#isDead) wake()
    })
  }

  /** Resolves after the delay; never if the process has died by then. */
  pass(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve))
  }

  get isDead(): boolean {
    return this.#isDead
  }

  die(): void {
    this.#isDead = true
  }
}
