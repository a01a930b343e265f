/**
 * Returns the intersection of the sets; undefined stands for everything. Iterates over the
 * smallest.
 */
export function intersect(
  sets: readonly (ReadonlySet<string> | undefined)[],
): ReadonlySet<string> | undefined {
  const bounded = sets.filter((one) => one !== undefined).toSorted((a, b) => a.size - b.size)
  const [smallest, ...others] = bounded
  if (smallest === undefined || others.length === 0) return smallest
  return new Set([...smallest].filter((key) => others.every((one) => one.has(key))))
}
