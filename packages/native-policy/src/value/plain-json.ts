import type { JsonValue } from './view.ts'

/** A run of sixteen digits may be an integer that a JavaScript number cannot represent. */
const LONG_NUMBER = /\d{16}/
const WHOLE = /^-?\d{1,19}$/

/** Parses JSON with exact 64-bit integers. Throws `SyntaxError` like `JSON.parse`. */
export function parseExactJson(text: string): JsonValue {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  try {
    return JSON.parse(text, (_key, value: JsonValue, ...rest: readonly unknown[]) =>
      typeof value === 'number' && !Number.isSafeInteger(value) ? exact(value, rest[0]) : value,
    )
  } catch (thrown) {
    // The reviver is recursive, so very deep values overflow the stack.
    if (thrown instanceof RangeError) throw new SyntaxError('the JSON is nested too deep')
    throw thrown
  }
}

/** The third argument of a reviver holds the source text of a number. */
function exact(value: number, context: unknown): number | bigint {
  if (typeof context !== 'object' || context === null || !('source' in context)) return value
  const { source } = context
  if (typeof source !== 'string' || !WHOLE.test(source)) return value
  const whole = BigInt(source)
  return BigInt.asIntN(64, whole) === whole ? whole : value
}
