/** An integer beyond the safe range, with its path: `check[0].target`. */
export interface UnsafeInteger {
  readonly path: string
  readonly value: number
}

/**
 * Finds the first integer of a free-form value that may have lost digits. The depth is limited when
 * values are decoded (LIMITS.jsonDepthMax), so the recursion is bounded.
 */
export function findUnsafeInteger(value: unknown): UnsafeInteger | undefined {
  if (typeof value === 'number') return isUnsafeInteger(value) ? { path: '', value } : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const isArray = Array.isArray(value)
  for (const [key, inner] of Object.entries(value)) {
    const found = findUnsafeInteger(inner)
    if (found !== undefined) return prependPath(isArray ? `[${key}]` : key, found)
  }
  return undefined
}

function isUnsafeInteger(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function prependPath(step: string, { path, value }: UnsafeInteger): UnsafeInteger {
  const isJoined = path === '' || path.startsWith('[')
  return { path: isJoined ? step + path : `${step}.${path}`, value }
}
