/**
 * Reports whether two JSON values are equal, regardless of key order. The depth is limited when
 * values are decoded (LIMITS.jsonDepthMax), so the recursion is bounded.
 */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) return isEqualList(a, b)
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  // Loops are faster than array methods here, and this dominates comparing large jobs.
  for (const name of names)
    if (!Object.hasOwn(b, name) || !isEqual(Reflect.get(a, name), Reflect.get(b, name)))
      return false
  return true
}

function isEqualList(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
  for (let at = 0; at < a.length; at++) if (!isEqual(a[at], b[at])) return false
  return true
}
