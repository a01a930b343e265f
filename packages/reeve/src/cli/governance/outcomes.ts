import type { v2 } from '@reeve/contract'
import type { Paint } from '../output/style.ts'
import { formatFinding } from './findings.ts'

/** Formats the results of policy sets, with the findings of failed policies. */
export function formatSetResults(sets: readonly v2.PolicySetVerdict[], paint: Paint): string {
  return sets.map((set) => formatSetResult(set, paint)).join('\n')
}

function formatSetResult(set: v2.PolicySetVerdict, paint: Paint): string {
  const error = set.error === '' ? [] : [`  ${paint('bad', set.error)}`]
  const outcomes = set.outcomes.flatMap((outcome) => policyResultLines(outcome, paint))
  return [`Policy set "${set['policy-set-name']}":`, ...error, ...outcomes].join('\n')
}

function policyResultLines(outcome: v2.PolicyOutcome, paint: Paint): readonly string[] {
  const isPassed = outcome.status === 'passed'
  const tone = isPassed ? 'good' : outcome.effective_level === 'advisory' ? 'warning' : 'bad'
  const name = `  "${outcome.policy_name}" (${outcome.enforcement_level})`
  if (outcome.skipped !== undefined) return [`${name} was not asked: ${outcome.skipped}`]
  const head = `${name} ${outcome.status}`
  return [
    paint(tone, head),
    ...outcome.findings.map((finding) => `    * ${formatFinding(finding)}`),
  ]
}
