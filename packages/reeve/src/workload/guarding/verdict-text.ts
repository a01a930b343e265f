import type { JobPolicyFinding, JobPolicyOutcome, v2 } from '@reeve/contract'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import { objectionText, weightOf, type Objection, type Verdict } from '../../policy/index.ts'
import type { GuardVerdict } from './policy-guard.ts'

/** Maximum number of lines in a denial; one policy may have many findings. */
const LINES_MAX = 100

/** Returns the denial: each policy that denies the job, with its level, rule and position. */
export function denial(jobId: string, { denials }: Verdict): Refusal {
  const isOverridable = denials.every(({ weight }) => weight === 'overridable')
  const count = denials.length === 1 ? 'a policy' : `${denials.length} policies`
  const lines = denials.flatMap(objectionLines)
  const left = lines.length - LINES_MAX
  const text = [
    `job ${JSON.stringify(jobId)} is denied by ${count}:`,
    ...lines.slice(0, LINES_MAX).map((line) => `\t* ${line}`),
    ...(left > 0 ? [`\t* and ${left} more`] : []),
    ...(isOverridable ? [OVERRIDE_HINT] : []),
  ].join('\n')
  return refusal(isOverridable ? 'policy-denied-overridable' : 'policy-denied', text)
}

const OVERRIDE_HINT =
  'PolicyOverride passes over what is listed; it needs the capability policy-override'

/** Returns `Warnings`: advisory failures and overridden policies. */
export function policyWarnings({ warnings, overridden }: Verdict): readonly string[] {
  const all = [
    ...warnings.flatMap(objectionLines),
    ...overridden.flatMap(objectionLines).map((line) => `${line} (allowed by PolicyOverride)`),
  ]
  return all.slice(0, LINES_MAX)
}

/** Returns the warnings of a plan, which include denials. */
export function plannedWarnings(verdict: Verdict): readonly string[] {
  const denied = verdict.denials.flatMap(objectionLines).map((line) => `would be denied: ${line}`)
  return [...denied.slice(0, LINES_MAX), ...policyWarnings(verdict)]
}

function objectionLines(objection: Objection): readonly string[] {
  const findings = objection.outcome.findings.map((finding) => ({
    ...finding,
    message: shortened(finding.message),
  }))
  return objectionText({ ...objection, outcome: { ...objection.outcome, findings } })
}

/** Returns every outcome in the format of the API. */
export function shownOutcomes(
  verdicts: readonly GuardVerdict[],
  isOverriding: boolean,
): readonly JobPolicyOutcome[] {
  return verdicts.flatMap(({ set, outcomes }) =>
    outcomes.map((outcome, at): JobPolicyOutcome => {
      const weight = weightOf(outcome.enforcement_level, set.overridable)
      return {
        PolicySet: set.name,
        PolicySetID: set.id,
        Policy: outcome.policy_name,
        PolicyID: set.policies[at]?.id ?? '',
        Level: outcome.enforcement_level,
        Status: outcome.status,
        Effect: effectOf(outcome, weight, isOverriding),
        Overridable: weight === 'overridable',
        Description: outcome.description,
        ...(outcome.skipped === undefined ? {} : { Skipped: outcome.skipped }),
        Findings: outcome.findings.slice(0, LIMITS.verdictFindingsMax).map(shownFinding),
        FindingsOmitted: Math.max(0, outcome.findings.length - LIMITS.verdictFindingsMax),
      }
    }),
  )
}

function effectOf(
  { status }: v2.PolicyOutcome,
  weight: Objection['weight'],
  isOverriding: boolean,
): JobPolicyOutcome['Effect'] {
  if (status === 'passed') return 'passes'
  if (weight === 'warning') return 'warns'
  return isOverriding && weight === 'overridable' ? 'overridden' : 'denies'
}

function shownFinding({ rule, file, line, column, message }: v2.PolicyFinding): JobPolicyFinding {
  return {
    Rule: rule,
    ...(file === undefined ? {} : { File: file }),
    Line: line,
    Column: column,
    Message: shortened(message),
  }
}

function shortened(text: string): string {
  const most = LIMITS.findingCharsMax
  return text.length <= most ? text : `${text.slice(0, most)}…`
}
