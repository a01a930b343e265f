import { RE2JS, RE2JSException } from 're2js'
import { estimateRegexSize } from './regex-size.ts'
import { err, ok, type Result } from './result.ts'

export type { Matcher, RE2JS } from 're2js'

/** A pattern that matches the text literally. */
export function quoteRegex(text: string): string {
  return RE2JS.quote(text)
}

/** A regular expression with linear matching time: no look-around, no back-references. */
export interface Regex {
  readonly regex: RE2JS
  /** Instructions of the compiled program: the work per input character. */
  readonly instructions: number
}

export interface RegexLimits {
  readonly lengthMax: number
  /** Maximum of `estimateRegexSize`, checked before compilation. */
  readonly sizeMax: number
  /** Maximum size of the compiled program, which is exact; defaults to `sizeMax`. */
  readonly instructionsMax?: number
  /** `.` also matches line breaks. */
  readonly matchesLineEnds?: boolean
}

export interface RegexError {
  readonly kind: 'too-long' | 'too-large' | 'invalid'
  /**
   * For users: `longer than 4096 characters`, `larger than 2000 instructions`, or the syntax error.
   */
  readonly message: string
}

/**
 * The only place that compiles patterns from users. A short text such as `(a{900}){9}` compiles to
 * a program that takes seconds, so its size is estimated first.
 */
export function compileRegex(text: string, limits: RegexLimits): Result<Regex, RegexError> {
  const { lengthMax, sizeMax, instructionsMax = sizeMax, matchesLineEnds = false } = limits
  if (text.length > lengthMax)
    return err({ kind: 'too-long', message: `longer than ${lengthMax} characters` })
  const tooLarge = () =>
    err<RegexError>({
      kind: 'too-large',
      message: `larger than ${Math.max(0, instructionsMax)} instructions`,
    })
  if (estimateRegexSize(text) > sizeMax) return tooLarge()
  try {
    const regex = RE2JS.compile(text, matchesLineEnds ? RE2JS.DOTALL : 0)
    const instructions = regex.programSize()
    return instructions > instructionsMax ? tooLarge() : ok({ regex, instructions })
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown
    return err({ kind: 'invalid', message: thrown.message })
  }
}
