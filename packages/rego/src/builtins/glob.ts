import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isArray, kindOf, type Value } from '../value/value.ts'
import { define, typeMismatch, type Builtin, type CallContext } from './builtin.ts'
import { PATTERN_LENGTH_MAX } from './limits.ts'
import { chargeForString, chargedString } from './operands.ts'
import { compilePattern, chargeSearch } from '../regex/pattern.ts'

export const GLOB_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'glob.match', operands: ['string', ['array', 'null'], 'string'], result: 'boolean' },
    (context, ...[glob, delimiters, text]) => {
      const separators = separatorsOf(context, delimiters)
      if (separators === undefined) return undefined
      chargeForString(context, glob.length)
      const pattern = globPattern(glob, separators)
      if (!pattern.ok) return context.fail(pattern.error)
      const compiled = compilePattern(pattern.value)
      if (!compiled.ok) return context.fail(compiled.error)
      chargeSearch(context, compiled.value, text.length)
      return compiled.value.regex.matcher(text).find()
    },
  ),
  define({ name: 'glob.quote_meta', operands: ['string'], result: 'string' }, (context, text) =>
    chargedString(context, text.replace(/[*?\\[\]{}]/g, '\\$&')),
  ),
]

/** None for null; a period when the array is empty. */
function separatorsOf(
  context: CallContext,
  delimiters: readonly Value[] | null,
): string | undefined {
  if (!isArray(delimiters)) return ''
  if (delimiters.length === 0) return '.'
  let separators = ''
  for (const delimiter of delimiters) {
    if (typeof delimiter !== 'string')
      return context.failType(typeMismatch(2, 'string', kindOf(delimiter)))
    if (Array.from(delimiter).length !== 1)
      return context.failType('operand 2 must be array of characters')
    separators += delimiter
  }
  return separators
}

interface Reader {
  readonly characters: readonly string[]
  at: number
  /** One character that is no separator. */
  readonly one: string
}

/** A regular expression for the glob: linear in time, whatever the glob. */
function globPattern(glob: string, separators: string): Result<string, string> {
  if (glob.length > PATTERN_LENGTH_MAX)
    return err(`the pattern is longer than ${PATTERN_LENGTH_MAX} characters`)
  const set = Array.from(separators, inClass).join('')
  const reader: Reader = {
    characters: Array.from(glob),
    at: 0,
    one: separators === '' ? '.' : `[^${set}]`,
  }
  let pattern = '(?s)\\A'
  let depth = 0
  while (reader.at < reader.characters.length) {
    const sign = reader.characters[reader.at++] ?? ''
    const piece = piecePattern(reader, sign, depth)
    if (!piece.ok) return piece
    pattern += piece.value
    if (sign === '{') depth++
    if (sign === '}' && depth > 0) depth--
  }
  return depth === 0 ? ok(`${pattern}\\z`) : err('unexpected end of input: "}" is missing')
}

function piecePattern(reader: Reader, sign: string, depth: number): Result<string, string> {
  switch (sign) {
    case '{':
      return ok('(?:')
    case '}':
      return ok(depth > 0 ? ')' : literal(sign))
    case ',':
      return ok(depth > 0 ? '|' : ',')
    case '?':
      return ok(reader.one)
    case '*': {
      if (reader.characters[reader.at] !== '*') return ok(`${reader.one}*`)
      while (reader.characters[reader.at] === '*') reader.at++
      return ok('.*')
    }
    case '[':
      return classPattern(reader)
    case '\\': {
      const escaped = reader.characters[reader.at++]
      return escaped === undefined
        ? err('unexpected end of input after "\\"')
        : ok(literal(escaped))
    }
    default:
      return ok(literal(sign))
  }
}

/** `[abc]`, `[a-z]`, and with `!` everything else. */
function classPattern(reader: Reader): Result<string, string> {
  const isNegated = reader.characters[reader.at] === '!'
  if (isNegated) reader.at++
  let members = ''
  for (;;) {
    let sign = reader.characters[reader.at++]
    if (sign === ']' && members !== '') return ok(`[${isNegated ? '^' : ''}${members}]`)
    if (sign === '\\') sign = reader.characters[reader.at++]
    if (sign === undefined || sign === ']') return err('a class "[" has no end or no members')
    const [dash, last] = [reader.characters[reader.at], reader.characters[reader.at + 1]]
    if (dash === '-' && last !== undefined && last !== ']') {
      if ((last.codePointAt(0) ?? 0) < (sign.codePointAt(0) ?? 0))
        return err(`hi character '${last}' should be greater than lo '${sign}'`)
      members += `${inClass(sign)}-${inClass(last)}`
      reader.at += 2
    } else members += inClass(sign)
  }
}

function literal(character: string): string {
  return /[\\.+*?()|[\]{}^$]/.test(character) ? `\\${character}` : character
}

function inClass(character: string): string {
  return /[\\\]^[-]/.test(character) ? `\\${character}` : character
}
