/** What the third argument of a reviver says of a primitive: its text in the source. */
interface ReviverContext {
  readonly source?: string
}
type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: ReviverContext) => unknown,
) => unknown
type RawJson = (text: string) => object

/**
 * JSON whose numbers stay as they are written: an integer of twenty digits, or `1.10`, comes out of
 * `JSON.stringify` as it went in. Where the engine cannot keep the text of a number, it is a number
 * like any other.
 */
export function parseExactJson(text: string): unknown {
  const rawJson: unknown = Reflect.get(JSON, 'rawJSON')
  if (typeof rawJson !== 'function') return JSON.parse(text)
  // The language has both; the library types of the compiler do not yet.
  const keep = rawJson as RawJson
  // The same function, with the third argument that its reviver gets.
  const parse = JSON.parse as ParseWithSource
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value)
      ? keep(source)
      : value,
  )
}
