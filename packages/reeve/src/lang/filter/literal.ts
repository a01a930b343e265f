import { err, ok, type Result } from '@reeve/kit/result.ts'
import { quote } from './quote.ts'

/**
 * The value in a match. It is a string; each conversion is computed once when the filter is
 * compiled.
 */
export interface Literal {
  readonly text: string
  readonly integer: Result<number, ConversionError>
  readonly float: Result<number, ConversionError>
  readonly boolean: Result<boolean, ConversionError>
}

/** Why the string cannot be converted to the type of the selected value. */
export type ConversionError = string

export function readLiteral(text: string): Literal {
  return { text, integer: readInteger(text), float: readFloat(text), boolean: readBoolean(text) }
}

// Base prefixes and underscores between digits, as in Go's `strconv.ParseInt` with base 0.
const INTEGER =
  /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?[0-9])*)$/
const INTEGER_LIMIT = 2n ** 63n

function readInteger(text: string): Result<number, ConversionError> {
  const match = INTEGER.exec(text)
  if (match === null) return err(conversionError('ParseInt', text, 'invalid syntax'))
  const [, sign, written = ''] = match
  const digits = written.replaceAll('_', '').replace(/^0(?=[0-7])/, '0o')
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits)
  if (value >= INTEGER_LIMIT || value < -INTEGER_LIMIT)
    return err(conversionError('ParseInt', text, 'value out of range'))
  // Rows hold JavaScript numbers, so beyond 2^53 both sides round to the same neighbour.
  return ok(Number(value))
}

const FLOAT = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const INFINITE = /^([+-]?)inf(?:inity)?$/i

function readFloat(text: string): Result<number, ConversionError> {
  const infinite = INFINITE.exec(text)
  if (infinite !== null) return ok(infinite[1] === '-' ? -Infinity : Infinity)
  if (/^nan$/i.test(text)) return ok(NaN)
  if (!FLOAT.test(text)) return err(conversionError('ParseFloat', text, 'invalid syntax'))
  const value = Number(text)
  if (!Number.isFinite(value)) return err(conversionError('ParseFloat', text, 'value out of range'))
  return ok(value)
}

const TRUE_TEXTS: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const FALSE_TEXTS: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

function readBoolean(text: string): Result<boolean, ConversionError> {
  if (TRUE_TEXTS.has(text)) return ok(true)
  if (FALSE_TEXTS.has(text)) return ok(false)
  return err(conversionError('ParseBool', text, 'invalid syntax'))
}

function conversionError(reading: string, text: string, why: string): ConversionError {
  return `strconv.${reading}: parsing ${quote(text)}: ${why}`
}
