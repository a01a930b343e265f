import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Store } from '../state/index.ts'
import { capAtDuration, shiftByJump, STORED_TIMES, type CorrectDeadline } from './stored-times.ts'
import type { Logger } from '@reeve/kit/log.ts'

const CHECK_INTERVAL_MS = 1_000
/**
 * Smaller changes are normal corrections by time servers. A larger jump would end locks and tokens
 * early or keep them too long.
 */
const MIN_JUMP_MS = 2_000
/** Stored times this far beyond their duration were set by a wrong clock. */
const MIN_STORED_AHEAD_MS = 60_000

interface ClockLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Omit<Logger, 'debug'>
  /** Whether global tokens are replicas of another region, which corrects them. */
  readonly copiesGlobalTokens: boolean
}

/**
 * Detects that the clock of this machine was ahead in an earlier process, or jumps, and corrects
 * the stored deadlines, so that nothing expires early or late.
 */
export class ClockLoop {
  readonly #options: ClockLoopOptions
  /** Wall clock minus monotonic clock; it changes when the clock is set. */
  #offsetMs = 0
  /** Log index of the last check. */
  #checkedIndex = 0
  /** True if a commit has a time in the future: the clock was ahead for a moment. */
  #hasCommitsAhead = false
  #cancelTimer: () => void = () => undefined
  #unsubscribe: () => void = () => undefined

  constructor(options: ClockLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { clock, store } = this.#options
    this.#offsetMs = this.#offset()
    this.#checkedIndex = store.index
    this.#unsubscribe = store.log.subscribe((commits) => {
      const expectedMs = clock.monotonicMs() + this.#offsetMs
      if (commits.some(({ timeMs }) => timeMs > expectedMs + MIN_JUMP_MS))
        this.#hasCommitsAhead = true
    })
    const count = this.#correctStoredTimes(capAtDuration(clock.nowMs(), MIN_STORED_AHEAD_MS))
    if (count > 0) this.#warn({ times: count }, 'the clock was ahead when these times were stored')
    this.#scheduleNext()
  }

  stop(): void {
    this.#unsubscribe()
    this.#cancelTimer()
  }

  /** Checks the clock now. Callers that expire something check first. */
  check(): void {
    this.#detectJump()
    // Rows corrected here are moved again by the next jump.
    this.#checkedIndex = this.#options.store.index
  }

  #detectJump(): void {
    const offsetMs = this.#offset()
    const jumpMs = offsetMs - this.#offsetMs
    const lastCheckedIndex = this.#checkedIndex
    this.#offsetMs = offsetMs
    // Gradual adjustment by a time server is not a jump.
    if (Math.abs(jumpMs) < MIN_JUMP_MS) return this.#correctCommitsAhead()
    this.#hasCommitsAhead = false
    const nowMs = this.#options.clock.nowMs()
    const count = this.#correctStoredTimes(shiftByJump({ jumpMs, nowMs, lastCheckedIndex }))
    this.#warn({ jumpMs, times: count }, 'the clock of this server was set')
  }

  /**
   * Corrects rows that were written while the clock was set forward and back between two checks.
   */
  #correctCommitsAhead(): void {
    if (!this.#hasCommitsAhead) return
    this.#hasCommitsAhead = false
    const count = this.#correctStoredTimes(capAtDuration(this.#options.clock.nowMs(), MIN_JUMP_MS))
    if (count > 0) this.#warn({ times: count }, 'the clock was ahead when these times were stored')
  }

  #offset(): number {
    const { clock } = this.#options
    return clock.nowMs() - clock.monotonicMs()
  }

  #scheduleNext(): void {
    this.#cancelTimer = this.#options.clock.after(CHECK_INTERVAL_MS, () => {
      this.#scheduleNext()
      this.check()
    })
  }

  /**
   * Corrects all stored times in one commit, so that none is corrected twice. Returns their number.
   */
  #correctStoredTimes(correct: CorrectDeadline): number {
    const { store, log, copiesGlobalTokens } = this.#options
    const input = { tables: store.tables, copiesGlobalTokens }
    const changes = STORED_TIMES.flatMap((time) => time.correctionsOf(input, correct))
    if (changes.length === 0) return 0
    try {
      store.commit({ by: 'system', cause: undefined, changes: () => changes })
      return changes.length
    } catch (thrown) {
      // Storage fault: the next start corrects the times.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'stored times could not be corrected')
      return 0
    }
  }

  #warn(fields: object, message: string): void {
    this.#options.log.warn(
      fields,
      `${message}; they were corrected. Synchronize the clock with a time server.`,
    )
  }
}
