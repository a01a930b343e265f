/**
 * The value under a key that somebody else chose. Names such as `constructor` are keys like any
 * other and find nothing that was not put there.
 */
export function ownValue<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
