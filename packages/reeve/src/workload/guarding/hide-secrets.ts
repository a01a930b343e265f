import type { v2 } from '@reeve/contract'
import type { JobSubject } from '../../policy/index.ts'

/** Shorter ones are in every text, and hiding them would tell what they are. */
const SECRET_CHARS_MIN = 4
const MASK = '(hidden)'

/**
 * Whoever submits a job reads what policies found, and may not be one who reads variables or
 * sensitive parameters: their values are taken out of the findings.
 */
export function hideSecrets(
  outcome: v2.PolicyOutcome,
  secrets: readonly string[],
): v2.PolicyOutcome {
  if (secrets.length === 0 || outcome.findings.length === 0) return outcome
  const findings = outcome.findings.map(({ rule, line, column, message }) => ({
    rule,
    line,
    column,
    message: secrets.reduce((text, secret) => text.replaceAll(secret, MASK), message),
  }))
  return { ...outcome, output: [], findings }
}

/** The values of the variables that policies were given, and of parameters; longest first. */
export function secretTexts(
  { variables }: Pick<JobSubject, 'variables'>,
  sensitive: readonly string[],
): readonly string[] {
  const texts = new Set(sensitive)
  for (const items of variables.values())
    for (const value of Object.values(items)) if (typeof value === 'string') texts.add(value)
  return [...texts]
    .filter(({ length }) => length >= SECRET_CHARS_MIN)
    .toSorted((a, b) => b.length - a.length)
}
