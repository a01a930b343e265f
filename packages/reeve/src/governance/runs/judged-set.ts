import type { v2 } from '@reeve/contract'
import type { PolicySetResultRow, PolicyCheckRow } from '../../model/index.ts'
import { decideEnforcement, enforcementEffect } from '../../policy/index.ts'

/** Returns the status of a policy check, which the most severe failure decides. */
export function policyCheckStatus(sets: readonly PolicySetResultRow[]): PolicyCheckRow['status'] {
  const { denials } = decideEnforcement(sets, false)
  if (denials.some(({ effect }) => effect === 'final')) return 'hard_failed'
  return denials.length > 0 ? 'soft_failed' : 'passed'
}

/**
 * Counts the results of a check. Errors count as failures at their level. An override ignores the
 * result and does not change it.
 */
export function policyCheckResult(
  sets: readonly PolicySetResultRow[],
  durationMs: number,
): v2.PolicyCheckResult {
  const all = sets.flatMap(({ outcomes, overridable }) =>
    outcomes.map(({ status, enforcement_level: level }) => ({
      hasPassed: status === 'passed',
      weight: enforcementEffect(level, overridable),
    })),
  )
  const failed = all.filter(({ hasPassed }) => !hasPassed)
  const count = (weight: (typeof all)[number]['weight']): number =>
    failed.filter((one) => one.weight === weight).length
  const hardFailed = count('final')
  const softFailed = count('overridable')
  return {
    result: hardFailed === 0 && softFailed === 0,
    passed: all.length - failed.length,
    'total-failed': failed.length,
    'hard-failed': hardFailed,
    'soft-failed': softFailed,
    'advisory-failed': count('warning'),
    'duration-ms': durationMs,
    native: { 'policy-sets': sets.map(toPolicySetVerdict) },
  }
}

/** Returns the outcome of one set in its document form. */
export function toPolicySetVerdict(set: Omit<PolicySetResultRow, 'id'>): v2.PolicySetVerdict {
  return {
    outcomes: set.outcomes,
    error: set.error,
    warnings: set.warnings,
    overridable: set.overridable,
    'policy-set-name': set.name,
    'policy-set-description': set.description,
    'policy-tool-version': set.toolVersion,
    'result-count': countResults([set]),
  }
}

/** Counts each outcome once: an error is not counted as a failure. */
export function countResults(
  sets: readonly Pick<PolicySetResultRow, 'outcomes'>[],
): v2.PolicyResultCount {
  const all = sets.flatMap(({ outcomes }) => outcomes)
  const failed = all.filter(({ status }) => status === 'failed')
  const advisory = failed.filter((one) => one.enforcement_level === 'advisory').length
  return {
    'advisory-failed': advisory,
    'mandatory-failed': failed.length - advisory,
    passed: all.filter(({ status }) => status === 'passed').length,
    errored: all.filter(({ status }) => status === 'errored').length,
  }
}

/** Failed if a mandatory policy does not pass, or a set could not be evaluated. */
export function policyEvaluationStatus(
  sets: readonly PolicySetResultRow[],
): 'passed' | 'failed' | 'errored' {
  if (!decideEnforcement(sets, false).isAllowed) return 'failed'
  return sets.some(({ error }) => error !== '') ? 'errored' : 'passed'
}

/**
 * Returns the status of a stage. It waits for an override only if every failed set can be
 * overridden.
 */
export function taskStageStatus(
  sets: readonly PolicySetResultRow[],
  canPause: boolean,
): 'passed' | 'failed' | 'awaiting_override' {
  const { denials } = decideEnforcement(sets, false)
  if (denials.length === 0) return 'passed'
  const isOverridable = denials.every(({ effect }) => effect === 'overridable')
  return isOverridable && canPause ? 'awaiting_override' : 'failed'
}

/** Returns the status of all sets of a dry run. */
export function dryRunStatus(sets: readonly PolicySetResultRow[]): 'passed' | 'failed' | 'errored' {
  const { denials } = decideEnforcement(sets, false)
  if (denials.some(({ outcome }) => outcome.status === 'failed')) return 'failed'
  return denials.length > 0 ? 'errored' : 'passed'
}
