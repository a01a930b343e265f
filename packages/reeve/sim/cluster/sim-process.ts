import type { Clock } from '@reeve/kit/clock.ts'
import type { VirtualClock } from '../virtual-clock.ts'

export interface SimProcessOptions {
  readonly world: VirtualClock
  /** How much faster than the world's its clocks run: 1.01 gains a second in a hundred. */
  readonly rate: number
  /** How far the clock on its wall is ahead. */
  readonly skew: { readonly ms: number }
}

/**
 * One process: everything that happens in it enters by its clock. It can be paused, and does then
 * everything that was due at once when it goes on; it can die, and does nothing any more.
 */
export class SimProcess implements Clock {
  readonly #options: SimProcessOptions
  #state: 'running' | 'paused' | 'waking' | 'dead' = 'running'
  /** What came while it was paused. */
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

  /** Goes on while the process is paused, as that of a machine does. */
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

  /** Something comes from outside. */
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

  /** One after the other, each with what follows from it; what comes meanwhile waits its turn. */
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
