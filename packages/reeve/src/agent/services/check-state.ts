import type { CheckResult, CheckStatus } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { PlannedCheck } from './plan-services.ts'
import type { CheckOutcome } from './probe.ts'

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

export function restartGraceMs({ check }: PlannedCheck): number {
  return msFromNs(check.CheckRestart?.Grace ?? 0)
}

/** The check result for the API. */
export function toCheckResult(planned: PlannedCheck, state: CheckState): CheckResult {
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
