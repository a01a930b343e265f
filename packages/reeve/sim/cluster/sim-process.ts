import type { Clock } from '@reeve/kit/clock.ts'
import type { VirtualClock } from '../virtual-clock.ts'

export interface SimProcessOptions {
  readonly world: VirtualClock
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
  #waiting: (() => void)[] = []

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
    const { world, skew } = this.#options
    return world.nowMs + skew.ms
  }

  /** Advances while the process is paused, as on a real machine. */
  monotonicMs(): number {
    const { world, rate } = this.#options
    return world.elapsedMs * rate
  }

  after(delayMs: number, wake: () => void): () => void {
    const { world, rate } = this.#options
    let isCancelled = false
    const cancel = world.after(delayMs / rate, () => {
      this.enter(() => {
        if (!isCancelled) wake()
      })
    })
    return () => {
      isCancelled = true
      cancel()
    }
  }

  /** Delivers an external event. */
  enter(work: () => void): void {
    if (this.#state === 'running') work()
    else if (this.#state !== 'dead') this.#waiting.push(work)
  }

  pause(): void {
    if (this.#state !== 'dead') this.#state = 'paused'
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'waking'
    this.#wake()
  }

  die(): void {
    this.#state = 'dead'
    this.#waiting = []
  }

  /** Runs events one after the other, each with its consequences; new events queue. */
  #wake(): void {
    this.#options.world.after(0, () => {
      if (this.#state !== 'waking') return
      const work = this.#waiting.shift()
      if (work === undefined) {
        this.#state = 'running'
        return
      }
      work()
      this.#wake()
    })
  }
}
