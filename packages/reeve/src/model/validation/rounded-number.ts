/** A whole number that stands for its neighbours too, and where it is: `check[0].target`. */
export interface RoundedNumber {
  readonly path: string
  readonly value: number
}

/**
 * The first whole number of a free-form value that may be another than was written. The value was
 * decoded (LIMITS.jsonDepthMax), so the recursion is bounded.
 */
export function findRounded(value: unknown): RoundedNumber | undefined {
  if (typeof value === 'number') return isRounded(value) ? { path: '', value } : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const isArray = Array.isArray(value)
  for (const [key, inner] of Object.entries(value)) {
    const found = findRounded(inner)
    if (found !== undefined) return within(isArray ? `[${key}]` : key, found)
  }
  return undefined
}

function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function within(step: string, { path, value }: RoundedNumber): RoundedNumber {
  const isJoined = path === '' || path.startsWith('[')
  return { path: isJoined ? step + path : `${step}.${path}`, value }
}
