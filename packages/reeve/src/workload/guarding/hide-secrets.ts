import type { v2 } from '@reeve/contract'
import { Secrets, withoutSecrets, type JobSubject } from '../../policy/index.ts'
import type { GuardingSet } from './policy-source.ts'

const MASK = '(hidden)'

/**
 * Removes secret values from the findings of policies. The submitter of a job sees the findings,
 * and need not have permission to read variables or sensitive parameters.
 */
export function hideSecrets(
  outcomes: readonly v2.PolicyOutcome[],
  { variables }: Pick<JobSubject, 'variables'>,
  { secrets: sensitive }: Pick<GuardingSet, 'secrets'>,
): readonly v2.PolicyOutcome[] {
  const secrets = new Secrets()
  secrets.add(sensitive)
  for (const items of variables.values()) secrets.add(items)
  const texts = secrets.texts()
  return outcomes.map((outcome) => withoutSecrets(shownOf(outcome), texts, MASK))
}

/** Removes output and values, which may be long and are not shown for jobs. */
function shownOf(outcome: v2.PolicyOutcome): v2.PolicyOutcome {
  const findings = outcome.findings.map(({ value: _, ...shown }) => shown)
  return { ...outcome, output: [], findings }
}
