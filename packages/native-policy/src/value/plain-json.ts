import type { PlainValue } from './view.ts'

/** Sixteen digits in a row may be a whole number that a JavaScript number does not hold. */
const LONG_NUMBER = /\d{16}/
const WHOLE = /^-?\d{1,19}$/

/**
 * JSON as plain data; a whole number of 64 bits keeps all its digits. Throws `SyntaxError` as
 * `JSON.parse` does.
 */
export function plainJson(text: string): PlainValue {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  try {
    return JSON.parse(text, (_key, value: PlainValue, ...rest: readonly unknown[]) =>
      typeof value === 'number' && !Number.isSafeInteger(value) ? exact(value, rest[0]) : value,
    )
  } catch (thrown) {
    // Values are revived by recursion, so very deep ones end with the stack.
    if (thrown instanceof RangeError) throw new SyntaxError('the JSON is nested too deep')
    throw thrown
  }
}

/** The third argument of a reviver holds the text of a number. */
function exact(value: number, context: unknown): number | bigint {
  if (typeof context !== 'object' || context === null || !('source' in context)) return value
  const { source } = context
  if (typeof source !== 'string' || !WHOLE.test(source)) return value
  const whole = BigInt(source)
  return BigInt.asIntN(64, whole) === whole ? whole : value
}
