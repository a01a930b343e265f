import { RE2JS, RE2JSException } from 're2js'
import { patternSize } from '../../kit/pattern-size.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import { LIMITS } from '../limits.ts'

/** Length of a regular expression in a job: patterns that people write are far shorter. */
const PATTERN_CHARS_MAX = 4_096
/** An unanchored linear-time match, or why the expression cannot be used. */
export function compilePattern(text: string): Result<(value: string) => boolean, string> {
  if (text.length > PATTERN_CHARS_MAX)
    return err(`it is longer than ${PATTERN_CHARS_MAX} characters`)
  // Before it is compiled: a short text such as `(a{900}){9}` can stand for a huge program.
  if (patternSize(text) > LIMITS.patternInstructionsMax)
    return err(`it is larger than ${LIMITS.patternInstructionsMax} instructions`)
  try {
    const regex = RE2JS.compile(text)
    return ok((value) => regex.matcher(value).find())
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown
    return err(thrown.message)
  }
}
