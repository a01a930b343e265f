import { LIMITS } from '../../model/index.ts'
import type { PlainObject } from '../../policy/index.ts'

type PlainValue = PlainObject[string]

/** A value that reads as JSON is given to policies as that, another one as text. */
export function parameterValue(text: string): PlainValue {
  try {
    // JSON is plain data.
    const value = JSON.parse(text) as PlainValue
    return isShallow(value) ? value : text
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return text
    throw thrown
  }
}

/** Whoever walks the value must come to its end. */
function isShallow(value: PlainValue): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.jsonDepthMax) return false
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    )
  }
  return true
}
