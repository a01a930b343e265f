import { compileRegex, type Regex } from '@reeve/kit/regex.ts'
import { err, type Result } from '@reeve/kit/result.ts'
import { evaluationError, type FilterError } from './filter-error.ts'
import { MAX_PATTERN_INSTRUCTIONS, MAX_PATTERN_SIZE, MAX_TEXT_LENGTH } from './limits.ts'
import { quote } from './quote.ts'

/** A compiled regular expression, or the error for rows compared with it. */
export type Pattern = Result<Regex, FilterError>

/**
 * Compiles the patterns of one filter, which share a size limit. Matching takes linear time: no
 * look-around.
 */
export function patternCompiler(): (text: string) => Pattern {
  let left = MAX_PATTERN_INSTRUCTIONS
  return (text) => {
    // Nothing is compiled after the limit is used up: a short pattern may expand to a large
    // program.
    const pattern = left < 0 ? TOO_LARGE : compile(text)
    if (!pattern.ok) return pattern
    left -= pattern.value.instructions
    return left < 0 ? TOO_LARGE : pattern
  }
}

const TOO_LARGE = err(
  evaluationError(
    `the regular expressions of the filter have more than ${MAX_PATTERN_INSTRUCTIONS} instructions`,
  ),
)

function compile(text: string): Pattern {
  const compiled = compileRegex(text, PATTERN_LIMITS)
  if (compiled.ok) return compiled
  const { kind, message } = compiled.error
  if (kind === 'too-large') return TOO_LARGE
  return err(evaluationError(`failed to compile regular expression ${quote(text)}: ${message}`))
}

const PATTERN_LIMITS = {
  lengthMax: MAX_TEXT_LENGTH,
  sizeMax: MAX_PATTERN_SIZE,
  instructionsMax: MAX_PATTERN_INSTRUCTIONS,
}
