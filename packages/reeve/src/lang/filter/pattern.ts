import { RE2JS, RE2JSException } from 're2js'
import { err, ok, type Result } from '../../kit/result.ts'
import { failed, type FilterError } from './filter-error.ts'
import { MAX_PATTERN_INSTRUCTIONS } from './limits.ts'
import { quote } from './quote.ts'

/**
 * A compiled regular expression, or the error that shows when a row is compared with it (reference
 * §3.5).
 */
export type Pattern = Result<{ readonly regex: RE2JS; readonly instructions: number }, FilterError>

/**
 * Compiles the patterns of one filter, which share one allowance. The engine takes linear time: no
 * look-around.
 */
export function patternCompiler(): (text: string) => Pattern {
  let left = MAX_PATTERN_INSTRUCTIONS
  return (text) => {
    // A spent allowance ends compilation too: a short text can stand for a large program.
    const pattern = left < 0 ? TOO_LARGE : compile(text)
    if (!pattern.ok) return pattern
    left -= pattern.value.instructions
    return left < 0 ? TOO_LARGE : pattern
  }
}

const TOO_LARGE = err(
  failed(
    `the regular expressions of the filter have more than ${MAX_PATTERN_INSTRUCTIONS} instructions`,
  ),
)

function compile(text: string): Pattern {
  try {
    const regex = RE2JS.compile(text)
    return ok({ regex, instructions: regex.programSize() })
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown
    return err(failed(`failed to compile regular expression ${quote(text)}: ${thrown.message}`))
  }
}
