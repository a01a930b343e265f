import { isArray, ObjectBuilder, ObjectValue, SetValue, type Value } from '../value/value.ts'

/** `value[key]`; the members of a set are their own keys. */
export function lookup(value: Value | undefined, key: Value): Value | undefined {
  if (value instanceof ObjectValue) return value.get(key)
  if (isArray(value)) return typeof key === 'number' ? value[key] : undefined
  if (value instanceof SetValue) return value.has(key) ? key : undefined
  return undefined
}

export function lookupPath(value: Value | undefined, path: readonly Value[]): Value | undefined {
  let found = value
  for (const key of path) {
    if (found === undefined) return undefined
    found = lookup(found, key)
  }
  return found
}

/** Base data is stored under names: a whole number finds the name that looks like it. */
export function lookupBase(start: Value | undefined, path: readonly Value[]): Value | undefined {
  let found = start
  for (const key of path) {
    if (found === undefined) return undefined
    const value: Value | undefined = lookup(found, key)
    const name = typeof key === 'number' && found instanceof ObjectValue ? String(key) : undefined
    found = value === undefined && name !== undefined ? lookup(found, name) : value
  }
  return found
}

/** Calls `visit` with every key and value in order until it returns true. */
export function eachEntry(
  collection: Value | undefined,
  visit: (key: Value, value: Value) => boolean,
): boolean {
  if (isArray(collection)) {
    for (let at = 0; at < collection.length; at++) {
      const value = collection[at]
      if (value !== undefined && visit(at, value)) return true
    }
    return false
  }
  if (collection instanceof ObjectValue) {
    for (const key of collection.keys()) {
      const value = collection.get(key)
      if (value !== undefined && visit(key, value)) return true
    }
    return false
  }
  if (collection instanceof SetValue)
    for (const member of collection.sorted()) if (visit(member, member)) return true
  return false
}

export function isCollection(value: Value | undefined): boolean {
  return isArray(value) || value instanceof ObjectValue || value instanceof SetValue
}

/** A copy with another value at the path; what is no object on the way becomes one. */
export function replacePath(
  value: Value | undefined,
  path: readonly string[],
  replacement: Value,
): Value {
  const [first, ...rest] = path
  if (first === undefined) return replacement
  const builder = new ObjectBuilder()
  if (value instanceof ObjectValue) builder.setAll(value)
  const inner = value instanceof ObjectValue ? value.get(first) : undefined
  return builder.set(first, replacePath(inner, rest, replacement)).build()
}
