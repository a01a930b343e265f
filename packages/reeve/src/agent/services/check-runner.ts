import type { CheckResult, CheckStatus } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { ExecRequest, ExecSession } from '../driver.ts'
import type { PlannedCheck } from './plan-services.ts'
import { type CheckOutcome, runCheck } from './check-probe.ts'

interface CheckRunnerOptions {
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

/** State of a check; each result creates a new one. */
export interface CheckState {
  readonly status: CheckStatus
  readonly output: string
  readonly statusCode: number | undefined
  readonly atMs: number
  /** Consecutive results of the same outcome. */
  readonly successes: number
  readonly failures: number
  /** When the check started to count as passing for deployments; undefined if it does not. */
  readonly passingSinceMs: number | undefined
  /** Failures in a row that count towards a restart. */
  readonly consecutiveFailures: number
}

/** State before the first result. A check that deployments ignore never blocks them. */
export function initialCheckState({ check }: PlannedCheck, nowMs: number): CheckState {
  const isAssumedPassing = check.InitialStatus === 'passing'
  return {
    status: isAssumedPassing ? 'success' : 'pending',
    output: isAssumedPassing ? 'assumed to pass until the first check' : 'not checked yet',
    statusCode: undefined,
    atMs: nowMs,
    successes: 0,
    failures: 0,
    passingSinceMs: isAssumedPassing || check.OnUpdate === 'ignore' ? nowMs : undefined,
    consecutiveFailures: 0,
  }
}

/**
 * State after a result. The status changes after as many equal results in a row as the check
 * requires; a different result restarts the count.
 */
export function nextCheckState(
  { check }: PlannedCheck,
  previous: CheckState,
  { outcome, nowMs, graceUntilMs }: { outcome: CheckOutcome; nowMs: number; graceUntilMs: number },
): CheckState {
  const isPassing = outcome.outcome === 'passing'
  const successes = isPassing ? previous.successes + 1 : 0
  const failures = isPassing ? 0 : previous.failures + 1
  const isStatusChanged = isPassing
    ? successes >= Math.max(1, check.SuccessBeforePassing)
    : failures >= Math.max(1, check.FailuresBeforeCritical)
  const status = isStatusChanged ? (isPassing ? 'success' : 'failure') : previous.status
  const { output, statusCode } = outcome
  return {
    status,
    output,
    statusCode,
    atMs: nowMs,
    successes,
    failures,
    passingSinceMs: passingSince(check.OnUpdate, { previous, outcome, status, nowMs }),
    consecutiveFailures: countFailures(check, {
      previous,
      outcome,
      isInGrace: nowMs < graceUntilMs,
    }),
  }
}

interface CheckTransition {
  readonly previous: CheckState
  readonly outcome: CheckOutcome
  readonly status: CheckStatus
  readonly nowMs: number
}

/** Applies `on_update`, which relaxes the requirements of deployments. */
function passingSince(
  onUpdate: string,
  { previous, outcome, status, nowMs }: CheckTransition,
): number | undefined {
  const isToleratedWarning = onUpdate === 'ignore_warnings' && outcome.outcome === 'warning'
  if (onUpdate !== 'ignore' && status !== 'success' && !isToleratedWarning) return undefined
  return previous.passingSinceMs ?? nowMs
}

function countFailures(
  { CheckRestart: restart }: PlannedCheck['check'],
  {
    previous,
    outcome,
    isInGrace,
  }: { previous: CheckState; outcome: CheckOutcome; isInGrace: boolean },
): number {
  if (restart === null || restart.Limit <= 0 || isInGrace) return 0
  const isIgnored = outcome.outcome === 'warning' && restart.IgnoreWarnings
  return outcome.outcome === 'passing' || isIgnored ? 0 : previous.consecutiveFailures + 1
}

/** Whether the task has to be restarted. */
export function hasReachedRestartLimit(
  { check }: PlannedCheck,
  { consecutiveFailures }: CheckState,
): boolean {
  const limit = check.CheckRestart?.Limit ?? 0
  return limit > 0 && consecutiveFailures >= limit
}

function restartGraceMs({ check }: PlannedCheck): number {
  return msFromNs(check.CheckRestart?.Grace ?? 0)
}

/** The check result for the API. */
function toCheckResult(planned: PlannedCheck, state: CheckState): CheckResult {
  return {
    ID: planned.id,
    Mode: planned.check.OnUpdate === 'ignore' ? 'readiness' : 'healthiness',
    Status: state.status,
    ...(state.statusCode === undefined ? {} : { StatusCode: state.statusCode }),
    Output: state.output,
    Timestamp: Math.floor(state.atMs / 1_000),
    Group: planned.group,
    ...(planned.task === '' ? {} : { Task: planned.task }),
    Service: planned.service,
    Check: planned.name,
  }
}

/** Health of the checks of an allocation, for deployments. */
export interface ChecksHealth {
  /** Since when all checks pass continuously; undefined if one does not. */
  readonly passingSinceMs: number | undefined
  /** Checks that do not pass; the task is empty for a service of the group. */
  readonly notPassing: readonly NotPassingCheck[]
}

interface NotPassingCheck {
  readonly task: string
  readonly check: string
  /** Latest output of the check. */
  readonly output?: string
  /** Status code of the HTTP response. */
  readonly statusCode?: number
}
