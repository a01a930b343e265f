import type { CheckResult } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { ExecRequest, ExecSession } from '../task-session.ts'
import {
  checkResult,
  firstState,
  graceMs,
  isOut,
  nextState,
  type CheckState,
} from './check-state.ts'
import type { PlannedCheck } from './plan-services.ts'
import { probe } from './probe.ts'

export interface CheckRunnerOptions {
  readonly clock: Clock
  readonly planned: PlannedCheck
  readonly exec: (request: ExecRequest) => Promise<ExecSession>
  /** A look was taken. */
  changed(): void
  /** It failed as often in a row as its `check_restart` allows. */
  out(planned: PlannedCheck): void
}

/** Neither is shorter, whatever the job says. */
const CHECK_MS_MIN = 1_000

/** Looks at one service again and again, the first time at once, until it is stopped. */
export class CheckRunner {
  readonly #options: CheckRunnerOptions
  #state: CheckState
  #graceUntilMs: number
  #cancelNext: () => void = () => undefined
  #look: AbortController | undefined
  #isStarted = false
  #isStopped = false

  constructor(options: CheckRunnerOptions) {
    this.#options = options
    const nowMs = options.clock.nowMs()
    this.#state = firstState(options.planned, nowMs)
    this.#graceUntilMs = nowMs + graceMs(options.planned)
  }

  get planned(): PlannedCheck {
    return this.#options.planned
  }

  /** Since when a roll-out may count on it; undefined while it may not. */
  get passingSinceMs(): number | undefined {
    return this.#state.passingSinceMs
  }

  get result(): CheckResult {
    return checkResult(this.#options.planned, this.#state)
  }

  /** Safe to repeat. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const nowMs = this.#options.clock.nowMs()
    this.#graceUntilMs = nowMs + graceMs(this.#options.planned)
    void this.#run()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelNext()
    this.#look?.abort()
  }

  async #run(): Promise<void> {
    const { clock, planned, exec } = this.#options
    const beganMs = clock.nowMs()
    const look = new AbortController()
    this.#look = look
    const timeoutMs = Math.max(CHECK_MS_MIN, msFromNs(planned.check.Timeout))
    const cancelDeadline = clock.after(timeoutMs, () => look.abort())
    const finding = await probe(planned, { signal: look.signal, exec })
    cancelDeadline()
    if (this.#isStopped) return
    const nowMs = clock.nowMs()
    const graceUntilMs = this.#graceUntilMs
    this.#state = nextState(planned, this.#state, { finding, nowMs, graceUntilMs })
    const intervalMs = Math.max(CHECK_MS_MIN, msFromNs(planned.check.Interval))
    // The interval is from look to look, however long one took.
    const delayMs = Math.max(0, beganMs + intervalMs - nowMs)
    this.#cancelNext = clock.after(delayMs, () => void this.#run())
    if (isOut(planned, this.#state)) this.#strikeOut(nowMs)
    this.#options.changed()
  }

  /** What was restarted has its time again before it counts. */
  #strikeOut(nowMs: number): void {
    this.#state = { ...this.#state, strikes: 0 }
    this.#graceUntilMs = nowMs + graceMs(this.#options.planned)
    this.#options.out(this.#options.planned)
  }
}
