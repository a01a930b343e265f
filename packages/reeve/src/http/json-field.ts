/** Returns a field of untrusted input; undefined if the input has none. */
export function getField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined
}

/** Returns the string; empty for any other value. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
