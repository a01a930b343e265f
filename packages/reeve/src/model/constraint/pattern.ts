import { compileRegex } from '@reeve/kit/regex.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS } from '../limits.ts'

/** Maximum length of a regular expression in a job. */
const PATTERN_LENGTH_MAX = 4_096

const PATTERN_LIMITS = { lengthMax: PATTERN_LENGTH_MAX, sizeMax: LIMITS.patternInstructionsMax }

/** Returns an unanchored linear-time matcher, or why the expression cannot be used. */
export function compilePattern(text: string): Result<(value: string) => boolean, string> {
  const compiled = compileRegex(text, PATTERN_LIMITS)
  if (!compiled.ok) {
    const { kind, message } = compiled.error
    return err(kind === 'invalid' ? message : `it is ${message}`)
  }
  const { regex } = compiled.value
  return ok((value) => regex.matcher(value).find())
}
