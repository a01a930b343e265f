import type { Clock } from '@reeve/kit/clock.ts'
import type { VirtualClock } from '../virtual-clock.ts'

export interface SimProcessOptions {
  readonly virtualClock: VirtualClock
  /** Rate of its clocks relative to the world's: 1.01 gains a second in a hundred. */
  readonly rate: number
  /** How far its wall clock is ahead. */
  readonly skew: { readonly ms: number }
}

/**
 * One process. All its work goes through its clock. When paused, it does nothing and catches up on
 * resume; when dead, it does nothing any more.
 */
export class SimProcess implements Clock {
  readonly #options: SimProcessOptions
  #state: 'running' | 'paused' | 'waking' | 'dead' = 'running'
  /** Events that arrived while the process was paused. */
  #queuedEvents: (() => void)[] = []

  constructor(options: SimProcessOptions) {
    this.#options = options
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  nowMs(): number {
    const { virtualClock, skew } = this.#options
    return virtualClock.nowMs + skew.ms
  }

  /** Advances while the process is paused, as on a real machine. */
  monotonicMs(): number {
    const { virtualClock, rate } = this.#options
    return virtualClock.elapsedMs * rate
  }

  after(delayMs: number, wake: () => void): () => void {
    const { virtualClock, rate } = this.#options
    let isCancelled = false
    const cancel = virtualClock.after(delayMs / rate, () => {
      this.deliver(() => {
        if (!isCancelled) wake()
      })
    })
    return () => {
      isCancelled = true
      cancel()
    }
  }

  /** Delivers an external event. */
  deliver(work: () => void): void {
    if (this.#state === 'running') work()
    else if (this.#state !== 'dead') this.#queuedEvents.push(work)
  }

  pause(): void {
    if (this.#state !== 'dead') this.#state = 'paused'
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'waking'
    this.#runQueued()
  }

  kill(): void {
    this.#state = 'dead'
    this.#queuedEvents = []
  }

  /** Runs events one after the other, each with its consequences; new events queue. */
  #runQueued(): void {
    this.#options.virtualClock.after(0, () => {
      if (this.#state !== 'waking') return
      const work = this.#queuedEvents.shift()
      if (work === undefined) {
        this.#state = 'running'
        return
      }
      work()
      this.#runQueued()
    })
  }
}
