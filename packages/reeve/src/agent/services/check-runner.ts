import type { CheckResult } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { ExecRequest, ExecSession } from '../task-session.ts'
import {
  toCheckResult,
  initialCheckState,
  restartGraceMs,
  hasReachedRestartLimit,
  nextCheckState,
  type CheckState,
} from './check-state.ts'
import type { PlannedCheck } from './plan-services.ts'
import { runCheck } from './probe.ts'

export interface CheckRunnerOptions {
  readonly clock: Clock
  readonly planned: PlannedCheck
  readonly exec: (request: ExecRequest) => Promise<ExecSession>
  /** Called after each result. */
  onResult(): void
  /** Called when the check has failed as often in a row as its `check_restart` allows. */
  onRestartLimitReached(planned: PlannedCheck): void
}

/** Minimum interval and timeout of a check, whatever the job says. */
const CHECK_INTERVAL_MIN_MS = 1_000

/** Runs one check periodically, first immediately, until it is stopped. */
export class CheckRunner {
  readonly #options: CheckRunnerOptions
  #state: CheckState
  #graceUntilMs: number
  #cancelNext: () => void = () => undefined
  #currentRun: AbortController | undefined
  #isStarted = false
  #isStopped = false

  constructor(options: CheckRunnerOptions) {
    this.#options = options
    const nowMs = options.clock.nowMs()
    this.#state = initialCheckState(options.planned, nowMs)
    this.#graceUntilMs = nowMs + restartGraceMs(options.planned)
  }

  get planned(): PlannedCheck {
    return this.#options.planned
  }

  /** When the check started to count as passing for deployments; undefined if it does not. */
  get passingSinceMs(): number | undefined {
    return this.#state.passingSinceMs
  }

  get result(): CheckResult {
    return toCheckResult(this.#options.planned, this.#state)
  }

  /** Starts the check. Idempotent. */
  start(): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const nowMs = this.#options.clock.nowMs()
    this.#graceUntilMs = nowMs + restartGraceMs(this.#options.planned)
    void this.#runOnce()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelNext()
    this.#currentRun?.abort()
  }

  async #runOnce(): Promise<void> {
    const { clock, planned, exec } = this.#options
    const startedMs = clock.nowMs()
    const controller = new AbortController()
    this.#currentRun = controller
    const timeoutMs = Math.max(CHECK_INTERVAL_MIN_MS, msFromNs(planned.check.Timeout))
    const cancelDeadline = clock.after(timeoutMs, () => controller.abort())
    const outcome = await runCheck(planned, { signal: controller.signal, exec })
    cancelDeadline()
    if (this.#isStopped) return
    const nowMs = clock.nowMs()
    const graceUntilMs = this.#graceUntilMs
    this.#state = nextCheckState(planned, this.#state, { outcome, nowMs, graceUntilMs })
    const intervalMs = Math.max(CHECK_INTERVAL_MIN_MS, msFromNs(planned.check.Interval))
    // The interval counts from start to start, independent of the duration.
    const delayMs = Math.max(0, startedMs + intervalMs - nowMs)
    this.#cancelNext = clock.after(delayMs, () => void this.#runOnce())
    if (hasReachedRestartLimit(planned, this.#state)) this.#onRestartLimitReached(nowMs)
    this.#options.onResult()
  }

  /** Resets the failure count and the grace period for the restarted task. */
  #onRestartLimitReached(nowMs: number): void {
    this.#state = { ...this.#state, consecutiveFailures: 0 }
    this.#graceUntilMs = nowMs + restartGraceMs(this.#options.planned)
    this.#options.onRestartLimitReached(this.#options.planned)
  }
}
