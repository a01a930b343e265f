import type { CheckResult, CheckStatus } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { PlannedCheck } from './plan-services.ts'
import type { Finding } from './probe.ts'

/** How a check stands; every look makes a new one. */
export interface CheckState {
  readonly status: CheckStatus
  readonly output: string
  readonly statusCode: number | undefined
  readonly atMs: number
  /** Looks of the same kind in a row. */
  readonly successes: number
  readonly failures: number
  /** Since when the roll-out may count on it; undefined while it may not. */
  readonly passingSinceMs: number | undefined
  /** Failures in a row that count towards a restart. */
  readonly strikes: number
}

/** Before the first look. What need not pass never stands in the way of a roll-out. */
export function firstState({ check }: PlannedCheck, nowMs: number): CheckState {
  const isAssumed = check.InitialStatus === 'passing'
  return {
    status: isAssumed ? 'success' : 'pending',
    output: isAssumed ? 'assumed to pass until it is looked at' : 'not looked at yet',
    statusCode: undefined,
    atMs: nowMs,
    successes: 0,
    failures: 0,
    passingSinceMs: isAssumed || check.OnUpdate === 'ignore' ? nowMs : undefined,
    strikes: 0,
  }
}

/**
 * What a look changes. A status moves after as many looks of the same kind in a row as the check
 * asks for; one look of the other kind begins the count anew.
 */
export function nextState(
  { check }: PlannedCheck,
  before: CheckState,
  { finding, nowMs, graceUntilMs }: { finding: Finding; nowMs: number; graceUntilMs: number },
): CheckState {
  const isFine = finding.outcome === 'passing'
  const successes = isFine ? before.successes + 1 : 0
  const failures = isFine ? 0 : before.failures + 1
  const enough = isFine
    ? successes >= Math.max(1, check.SuccessBeforePassing)
    : failures >= Math.max(1, check.FailuresBeforeCritical)
  const status = enough ? (isFine ? 'success' : 'failure') : before.status
  const { output, statusCode } = finding
  return {
    status,
    output,
    statusCode,
    atMs: nowMs,
    successes,
    failures,
    passingSinceMs: passingSince(check.OnUpdate, { before, finding, status, nowMs }),
    strikes: strikesOf(check, { before, finding, isInGrace: nowMs < graceUntilMs }),
  }
}

interface Judged {
  readonly before: CheckState
  readonly finding: Finding
  readonly status: CheckStatus
  readonly nowMs: number
}

/** `on_update` relaxes what a roll-out asks for. */
function passingSince(
  onUpdate: string,
  { before, finding, status, nowMs }: Judged,
): number | undefined {
  const mayWarn = onUpdate === 'ignore_warnings' && finding.outcome === 'warning'
  if (onUpdate !== 'ignore' && status !== 'success' && !mayWarn) return undefined
  return before.passingSinceMs ?? nowMs
}

function strikesOf(
  { CheckRestart: restart }: PlannedCheck['check'],
  { before, finding, isInGrace }: { before: CheckState; finding: Finding; isInGrace: boolean },
): number {
  if (restart === null || restart.Limit <= 0 || isInGrace) return 0
  const isIgnored = finding.outcome === 'warning' && restart.IgnoreWarnings
  return finding.outcome === 'passing' || isIgnored ? 0 : before.strikes + 1
}

/** Whether the task is restarted now. */
export function isOut({ check }: PlannedCheck, { strikes }: CheckState): boolean {
  const limit = check.CheckRestart?.Limit ?? 0
  return limit > 0 && strikes >= limit
}

export function graceMs({ check }: PlannedCheck): number {
  return msFromNs(check.CheckRestart?.Grace ?? 0)
}

/** As the API shows it. */
export function checkResult(planned: PlannedCheck, state: CheckState): CheckResult {
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
