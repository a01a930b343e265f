/**
 * Returns an own property of a map with arbitrary keys: inherited names such as `constructor` are
 * not found.
 */
export function getOwn<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
