import type { JobPolicyFinding, JobPolicyOutcome, v2 } from '@reeve/contract'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import {
  formatViolation,
  enforcementEffect,
  type PolicyViolation,
  type EnforcementDecision,
} from '../../policy/index.ts'
import type { PolicySetVerdict } from './policy-guard.ts'

/** Maximum number of lines in a denial; one policy may have many findings. */
const DENIAL_LINES_MAX = 100

/** Returns the denial: each policy that denies the job, with its level, rule and position. */
export function policyDenial(jobId: string, { denials }: EnforcementDecision): Refusal {
  const isOverridable = denials.every(({ effect }) => effect === 'overridable')
  const count = denials.length === 1 ? 'a policy' : `${denials.length} policies`
  const lines = denials.flatMap(formatObjection)
  const omitted = lines.length - DENIAL_LINES_MAX
  const text = [
    `job ${JSON.stringify(jobId)} is denied by ${count}:`,
    ...lines.slice(0, DENIAL_LINES_MAX).map((line) => `\t* ${line}`),
    ...(omitted > 0 ? [`\t* and ${omitted} more`] : []),
    ...(isOverridable ? [OVERRIDE_HINT] : []),
  ].join('\n')
  return refusal(isOverridable ? 'policy-denied-overridable' : 'policy-denied', text)
}

const OVERRIDE_HINT =
  'PolicyOverride passes over what is listed; it needs the capability policy-override'

/** Returns `Warnings`: advisory failures and overridden policies. */
export function policyWarnings({ warnings, overridden }: EnforcementDecision): readonly string[] {
  const all = [
    ...warnings.flatMap(formatObjection),
    ...overridden.flatMap(formatObjection).map((line) => `${line} (allowed by PolicyOverride)`),
  ]
  return all.slice(0, DENIAL_LINES_MAX)
}

/** Returns the warnings of a plan, which include denials. */
export function dryRunWarnings(verdict: EnforcementDecision): readonly string[] {
  const denied = verdict.denials.flatMap(formatObjection).map((line) => `would be denied: ${line}`)
  return [...denied.slice(0, DENIAL_LINES_MAX), ...policyWarnings(verdict)]
}

function formatObjection(objection: PolicyViolation): readonly string[] {
  const findings = objection.outcome.findings.map((finding) => ({
    ...finding,
    message: truncateFinding(finding.message),
  }))
  return formatViolation({ ...objection, outcome: { ...objection.outcome, findings } })
}

/** Returns every outcome in the format of the API. */
export function publicOutcomes(
  verdicts: readonly PolicySetVerdict[],
  isOverriding: boolean,
): readonly JobPolicyOutcome[] {
  return verdicts.flatMap(({ set, outcomes }) =>
    outcomes.map((outcome, policyIndex): JobPolicyOutcome => {
      const weight = enforcementEffect(outcome.enforcement_level, set.overridable)
      return {
        PolicySet: set.name,
        PolicySetID: set.id,
        Policy: outcome.policy_name,
        PolicyID: set.policies[policyIndex]?.id ?? '',
        Level: outcome.enforcement_level,
        Status: outcome.status,
        Effect: policyEffect(outcome, weight, isOverriding),
        Overridable: weight === 'overridable',
        Description: outcome.description,
        ...(outcome.skipped === undefined ? {} : { Skipped: outcome.skipped }),
        Findings: outcome.findings.slice(0, LIMITS.verdictFindingsMax).map(publicFinding),
        FindingsOmitted: Math.max(0, outcome.findings.length - LIMITS.verdictFindingsMax),
      }
    }),
  )
}

function policyEffect(
  { status }: v2.PolicyOutcome,
  weight: PolicyViolation['effect'],
  isOverriding: boolean,
): JobPolicyOutcome['Effect'] {
  if (status === 'passed') return 'passes'
  if (weight === 'warning') return 'warns'
  return isOverriding && weight === 'overridable' ? 'overridden' : 'denies'
}

function publicFinding({ rule, file, line, column, message }: v2.PolicyFinding): JobPolicyFinding {
  return {
    Rule: rule,
    ...(file === undefined ? {} : { File: file }),
    Line: line,
    Column: column,
    Message: truncateFinding(message),
  }
}

function truncateFinding(text: string): string {
  const charsMax = LIMITS.findingCharsMax
  return text.length <= charsMax ? text : `${text.slice(0, charsMax)}…`
}
