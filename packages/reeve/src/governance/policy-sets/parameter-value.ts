import { LIMITS } from '../../model/index.ts'
import type { JsonObject } from '../../policy/index.ts'

type ParameterValue = JsonObject[string]

/** Returns the JSON value of a text, or the text itself if it is not JSON. */
export function parseParameterValue(text: string): ParameterValue {
  try {
    // JSON values are plain data.
    const value = JSON.parse(text) as ParameterValue
    return isShallow(value) ? value : text
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return text
    throw thrown
  }
}

/** Limits the depth, because policies may traverse the value recursively. */
function isShallow(value: ParameterValue): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.jsonDepthMax) return false
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    )
  }
  return true
}
