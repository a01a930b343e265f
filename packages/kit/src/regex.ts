import { RE2JS, RE2JSException } from 're2js'
import { patternSize } from './pattern-size.ts'
import { err, ok, type Result } from './result.ts'

/** A regular expression that is matched in linear time: no look-around, no back-references. */
export interface Regex {
  readonly regex: RE2JS
  /** Instructions of the compiled program: the work for one character of a text. */
  readonly instructions: number
}

export interface RegexLimits {
  readonly lengthMax: number
  /** Of `patternSize`, which is measured before anything is compiled. */
  readonly sizeMax: number
  /** Of the compiled program, which is known exactly; `sizeMax` where it is not given. */
  readonly instructionsMax?: number
  /** Flags of the engine, such as `RE2JS.DOTALL`. */
  readonly flags?: number
}

export interface RegexProblem {
  readonly kind: 'too-long' | 'too-large' | 'invalid'
  /** For a person: `longer than 4096 characters`, `larger than 2000 instructions`, or the fault. */
  readonly message: string
}

/**
 * The one place where patterns that users supply are compiled. A short text such as `(a{900}){9}`
 * stands for a program that takes seconds to compile, so the size is estimated first.
 */
export function compileRegex(text: string, limits: RegexLimits): Result<Regex, RegexProblem> {
  const { lengthMax, sizeMax, instructionsMax = sizeMax, flags = 0 } = limits
  if (text.length > lengthMax)
    return err({ kind: 'too-long', message: `longer than ${lengthMax} characters` })
  const tooLarge = () =>
    err<RegexProblem>({
      kind: 'too-large',
      message: `larger than ${Math.max(0, instructionsMax)} instructions`,
    })
  if (patternSize(text) > sizeMax) return tooLarge()
  try {
    const regex = RE2JS.compile(text, flags)
    const instructions = regex.programSize()
    return instructions > instructionsMax ? tooLarge() : ok({ regex, instructions })
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown
    return err({ kind: 'invalid', message: thrown.message })
  }
}
