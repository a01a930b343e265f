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
  #firedCount = 0

  get nowMs(): number {
    return this.#nowMs
  }

  /** Time since the start of the world. */
  get elapsedMs(): number {
    return this.#nowMs - START_MS
  }

  /** Number of fired timers: the cost of a simulation. */
  get firedCount(): number {
    return this.#firedCount
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
  async advance(durationMs: number, shouldStop: () => boolean): Promise<void> {
    const endMs = this.#nowMs + durationMs
    await yieldToEventLoop()
    for (let next = this.#nextDue(endMs); next !== undefined; next = this.#nextDue(endMs)) {
      if (shouldStop()) return
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      this.#firedCount += 1
      next.wake?.()
      await yieldToEventLoop()
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
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * The clock of one process. Its timers die with it, and its wall clock can be set without affecting
 * them, as on a real machine.
 */
export class ProcessClock implements Clock {
  readonly #virtualClock: VirtualClock
  readonly #skew: { readonly ms: number }
  #isDead = false

  constructor(world: VirtualClock, skew: { readonly ms: number } = { ms: 0 }) {
    this.#virtualClock = world
    this.#skew = skew
  }

  nowMs(): number {
    return this.#virtualClock.nowMs + this.#skew.ms
  }

  monotonicMs(): number {
    return this.#virtualClock.elapsedMs
  }

  after(delayMs: number, wake: () => void): () => void {
    if (this.#isDead) return () => undefined
    return this.#virtualClock.after(delayMs, () => {
      if (!this.#isDead) wake()
    })
  }

  /** Resolves after the delay; never if the process has died by then. */
  sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve))
  }

  get isDead(): boolean {
    return this.#isDead
  }

  kill(): void {
    this.#isDead = true
  }
}
