import { RE2JS, RE2JSException } from 're2js'
import { err, ok, type Result } from '../../kit/result.ts'

/** Length of a regular expression in a job: patterns that people write are far shorter. */
const PATTERN_CHARS_MAX = 4_096
/** Size of its program: a short text such as `(.{900}){900}` can stand for a huge one. */
const PATTERN_INSTRUCTIONS_MAX = 20_000

/** An unanchored linear-time match, or why the expression cannot be used. */
export function compilePattern(text: string): Result<(value: string) => boolean, string> {
  if (text.length > PATTERN_CHARS_MAX)
    return err(`it is longer than ${PATTERN_CHARS_MAX} characters`)
  try {
    const regex = RE2JS.compile(text)
    if (regex.programSize() > PATTERN_INSTRUCTIONS_MAX)
      return err(`it is larger than ${PATTERN_INSTRUCTIONS_MAX} instructions`)
    return ok((value) => regex.matcher(value).find())
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown
    return err(thrown.message)
  }
}
