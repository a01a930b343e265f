import type { v2 } from '@reeve/contract'
import { Secrets, withoutSecrets, type JobSubject } from '../../policy/index.ts'
import type { GuardingSet } from './policy-source.ts'

const MASK = '(hidden)'

/**
 * Whoever submits a job reads what policies found, and may not be one who reads variables or
 * sensitive parameters: their values are taken out of the findings.
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

/** Nobody is shown output and values of what policies say of a job, which may be long. */
function shownOf(outcome: v2.PolicyOutcome): v2.PolicyOutcome {
  const findings = outcome.findings.map(({ value: _, ...shown }) => shown)
  return { ...outcome, output: [], findings }
}
