import { LIMITS } from '../../model/index.ts'
import type { PlainObject } from '../../policy/index.ts'

type PlainValue = PlainObject[string]

/** Returns the JSON value of a text, or the text itself if it is not JSON. */
export function parameterValue(text: string): PlainValue {
  try {
    // JSON values are plain data.
    const value = JSON.parse(text) as PlainValue
    return isShallow(value) ? value : text
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return text
    throw thrown
  }
}

/** Limits the depth, because policies may traverse the value recursively. */
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
