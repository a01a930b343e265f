/** An object of a JSON document. */
export type PlainObject = Readonly<Record<string, unknown>>

export function isPlainObject(value: unknown): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the members of a list that are objects; none if it is no list. */
export function objectsIn(value: unknown): readonly PlainObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : []
}

export function objectAt(value: unknown, name: string): PlainObject {
  const inner = isPlainObject(value) ? value[name] : undefined
  return isPlainObject(inner) ? inner : {}
}

export function textAt(value: PlainObject, name: string): string {
  const inner = value[name]
  return typeof inner === 'string' ? inner : ''
}

const VALUE_CHARS_MAX = 200

/** Returns a value on one line, as JSON. */
export function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.length <= VALUE_CHARS_MAX ? text : `${text.slice(0, VALUE_CHARS_MAX)}…`
}
