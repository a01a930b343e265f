/**
 * Whether two JSON values are the same, whatever the order of keys. Depth is that of what was
 * decoded (LIMITS.jsonDepthMax), so the recursion is bounded.
 */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) return isEqualList(a, b)
  const [names, others] = [Object.keys(a), Object.keys(b)]
  return (
    names.length === others.length &&
    names.every(
      (name) => Object.hasOwn(b, name) && isEqual(Reflect.get(a, name), Reflect.get(b, name)),
    )
  )
}

function isEqualList(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
  return a.every((entry, i) => isEqual(entry, b[i]))
}
