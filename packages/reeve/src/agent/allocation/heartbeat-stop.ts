import type { Clock } from '@reeve/kit/clock.ts'
import { formatDurationNs, msFromNs } from '@reeve/kit/duration.ts'
import type { AgentTaskGroup } from '../assignment.ts'

/** As much of an allocation here as its end on a node that is alone takes. */
export interface StoppableAllocation {
  readonly group: AgentTaskGroup
  /** Stops the allocation. Idempotent. */
  stop(reason: string): Promise<void>
}

interface HeartbeatStopOptions {
  readonly clock: Clock
  /** The running allocations. */
  allocations(): Iterable<StoppableAllocation>
}

/**
 * Stops allocations with `stop_on_client_after` that long after the last contact with a server: the
 * servers rely on it and start replacements. A start of the agent counts as contact.
 */
export class HeartbeatStop {
  readonly #options: HeartbeatStopOptions
  #lastContactMs = 0
  #timerDueMs = Infinity
  #cancelTimer: () => void = () => undefined

  constructor(options: HeartbeatStopOptions) {
    this.#options = options
  }

  start(): void {
    this.#lastContactMs = this.#options.clock.monotonicMs()
    this.rearm()
  }

  /** Records a contact. The timer is not moved: one that fires too early is set again. */
  onServerContact(): void {
    this.#lastContactMs = this.#options.clock.monotonicMs()
  }

  /** Sets the timer again after the allocations or their settings have changed. */
  rearm(): void {
    const nextDueMs = this.#stopOverdue()
    if (nextDueMs === undefined || nextDueMs >= this.#timerDueMs) return
    this.#cancelTimer()
    this.#timerDueMs = nextDueMs
    // Timers are limited to this delay; firing too early is harmless.
    const delayMs = Math.min(nextDueMs - this.#options.clock.monotonicMs(), 2 ** 31 - 1)
    this.#cancelTimer = this.#options.clock.after(delayMs, () => {
      this.#timerDueMs = Infinity
      this.rearm()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Stops overdue allocations, and returns when the next one is due. */
  #stopOverdue(): number | undefined {
    const nowMs = this.#options.clock.monotonicMs()
    let nextDueMs: number | undefined
    for (const allocation of this.#options.allocations()) {
      const stopAfterNs = allocation.group.Disconnect?.StopOnClientAfter ?? null
      if (stopAfterNs === null) continue
      const dueMs = this.#lastContactMs + msFromNs(stopAfterNs)
      if (dueMs > nowMs) nextDueMs = Math.min(nextDueMs ?? dueMs, dueMs)
      else void allocation.stop(`no server was heard for ${formatDurationNs(stopAfterNs)}`)
    }
    return nextDueMs
  }
}
