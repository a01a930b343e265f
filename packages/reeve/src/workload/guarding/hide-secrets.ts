import type { v2 } from '@reeve/contract'
import { SecretCollector, withoutSecrets, type JobInput } from '../../policy/index.ts'
import type { EnforcedPolicySet } from './policy-source.ts'

const SECRET_MASK = '(hidden)'

/**
 * Removes secret values from the findings of policies. The submitter of a job sees the findings,
 * and need not have permission to read variables or sensitive parameters.
 */
export function redactSecrets(
  outcomes: readonly v2.PolicyOutcome[],
  { variables }: Pick<JobInput, 'variables'>,
  { secrets: parameterSecrets }: Pick<EnforcedPolicySet, 'secrets'>,
): readonly v2.PolicyOutcome[] {
  const secrets = new SecretCollector()
  secrets.add(parameterSecrets)
  for (const items of variables.values()) secrets.add(items)
  const texts = secrets.encodedValues()
  return outcomes.map((outcome) => withoutSecrets(withoutDetails(outcome), texts, SECRET_MASK))
}

/** Removes output and values, which may be long and are not shown for jobs. */
function withoutDetails(outcome: v2.PolicyOutcome): v2.PolicyOutcome {
  const findings = outcome.findings.map(({ value: _, ...shown }) => shown)
  return { ...outcome, output: [], findings }
}
