import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import type { AgentTaskGroup } from '../assignment.ts'

/** As much of an allocation here as its end on a node that is alone takes. */
export interface Watched {
  readonly group: AgentTaskGroup
  /** Ends it; asked again it does nothing. */
  stop(reason: string): Promise<void>
}

interface AloneWatchOptions {
  readonly clock: Clock
  /** Those that run here now. */
  allocations(): Iterable<Watched>
}

/**
 * Ends allocations whose group asks for it, that long after a server was last heard: the servers
 * count on it and start others elsewhere. What this agent cannot know counts as heard: after its
 * own start the time begins anew.
 */
export class AloneWatch {
  readonly #options: AloneWatchOptions
  #heardMs = 0
  #armedMs = Infinity
  #cancel: () => void = () => undefined

  constructor(options: AloneWatchOptions) {
    this.#options = options
  }

  start(): void {
    this.#heardMs = this.#options.clock.monotonicMs()
    this.review()
  }

  /** A server said something. Costs nothing: a wake that comes too early sets itself again. */
  heard(): void {
    this.#heardMs = this.#options.clock.monotonicMs()
  }

  /** The allocations are others than before, or ask for something else. */
  review(): void {
    const firstMs = this.#endDue()
    if (firstMs === undefined || firstMs >= this.#armedMs) return
    this.#cancel()
    this.#armedMs = firstMs
    // A timer takes no more than this many milliseconds; too early is no harm.
    const delayMs = Math.min(firstMs - this.#options.clock.monotonicMs(), 2 ** 31 - 1)
    this.#cancel = this.#options.clock.after(delayMs, () => {
      this.#armedMs = Infinity
      this.review()
    })
  }

  stop(): void {
    this.#cancel()
  }

  /** Ends those whose time has come, and answers when the next one's comes. */
  #endDue(): number | undefined {
    const nowMs = this.#options.clock.monotonicMs()
    let firstMs: number | undefined
    for (const watched of this.#options.allocations()) {
      const afterNs = watched.group.Disconnect?.StopOnClientAfter ?? null
      if (afterNs === null) continue
      const dueMs = this.#heardMs + msFromNs(afterNs)
      if (dueMs > nowMs) firstMs = Math.min(firstMs ?? dueMs, dueMs)
      else void watched.stop(`no server was heard for ${formatDurationNs(afterNs)}`)
    }
    return firstMs
  }
}
