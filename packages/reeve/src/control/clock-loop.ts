import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Store } from '../state/index.ts'
import {
  atMostItsDuration,
  movedBy,
  STORED_TIMES,
  type CorrectDeadline,
} from './clock/stored-times.ts'
import type { ControlLog } from './control-log.ts'

const CHECK_EVERY_MS = 1_000
/**
 * Time servers correct a clock by less than this without anybody being disturbed; a jump that is
 * larger would end locks and tokens early or keep them for too long.
 */
const JUMP_MS_MIN = 2_000
/** A stored time this much too far ahead is not one of a clock that was corrected a little. */
const AHEAD_MS_MIN = 60_000

export interface ClockLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: ControlLog
  /** Global tokens are copies of those of another region, which corrects them. */
  readonly copiesGlobalTokens: boolean
}

/**
 * Notices that the clock of this machine was ahead before this process, or jumps, and corrects the
 * stored times that were set by it: nothing ends early, and nothing waits until the time has caught
 * up.
 */
export class ClockLoop {
  readonly #options: ClockLoopOptions
  /** The clock minus the monotonic one: it changes when somebody sets the clock. */
  #offsetMs = 0
  /** Index of the last commit when the clock was checked last. */
  #checkedIndex = 0
  /** A commit has a time that the clock has not reached: it was ahead for a moment. */
  #wasAhead = false
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
      if (commits.some(({ timeMs }) => timeMs > expectedMs + JUMP_MS_MIN)) this.#wasAhead = true
    })
    const count = this.#correct(atMostItsDuration(clock.nowMs(), AHEAD_MS_MIN))
    if (count > 0) this.#warn({ times: count }, 'the clock was ahead when these times were stored')
    this.#later()
  }

  stop(): void {
    this.#unsubscribe()
    this.#cancelTimer()
  }

  /** Looks at the clock now: whoever ends something because its time is over asks first. */
  check(): void {
    this.#compare()
    // Corrected rows were written by this loop, so the next jump moves them as well.
    this.#checkedIndex = this.#options.store.index
  }

  #compare(): void {
    const offsetMs = this.#offset()
    const jumpMs = offsetMs - this.#offsetMs
    const lastIndex = this.#checkedIndex
    this.#offsetMs = offsetMs
    // Time servers slow a clock down or speed it up; that is no jump, however long it goes on.
    if (Math.abs(jumpMs) < JUMP_MS_MIN) return this.#correctWhatWasAhead()
    this.#wasAhead = false
    const nowMs = this.#options.clock.nowMs()
    const count = this.#correct(movedBy({ jumpMs, nowMs, lastIndex }))
    this.#warn({ jumpMs, times: count }, 'the clock of this server was set')
  }

  /** The clock was set forward and back between two checks, and rows were written meanwhile. */
  #correctWhatWasAhead(): void {
    if (!this.#wasAhead) return
    this.#wasAhead = false
    const count = this.#correct(atMostItsDuration(this.#options.clock.nowMs(), JUMP_MS_MIN))
    if (count > 0) this.#warn({ times: count }, 'the clock was ahead when these times were stored')
  }

  #offset(): number {
    const { clock } = this.#options
    return clock.nowMs() - clock.monotonicMs()
  }

  #later(): void {
    this.#cancelTimer = this.#options.clock.after(CHECK_EVERY_MS, () => {
      this.#later()
      this.check()
    })
  }

  /** One commit, so that no time is corrected twice. @returns how many times were corrected */
  #correct(correct: CorrectDeadline): number {
    const { store, log, copiesGlobalTokens } = this.#options
    const stored = { tables: store.tables, copiesGlobalTokens }
    const changes = STORED_TIMES.flatMap((time) => time.corrections(stored, correct))
    if (changes.length === 0) return 0
    try {
      store.commit({ by: 'system', cause: undefined, changes: () => changes })
      return changes.length
    } catch (thrown) {
      // The storage has failed: the next start finds what is too far ahead.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'stored times could not be corrected')
      return 0
    }
  }

  #warn(fields: object, message: string): void {
    this.#options.log.warn(
      fields,
      `${message}; they were corrected. Let the machine follow a time server.`,
    )
  }
}
