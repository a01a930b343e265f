/** Third argument of a `JSON.parse` reviver: the source text of a primitive. */
interface ReviverContext {
  readonly source?: string
}
type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: ReviverContext) => unknown,
) => unknown
type RawJson = (text: string) => object

/**
 * Parses JSON and keeps the source text of numbers: an integer of twenty digits, or `1.10`, comes
 * out of `JSON.stringify` unchanged. Engines without source text access return plain numbers.
 */
export function parseExactJson(text: string): unknown {
  const rawJson: unknown = Reflect.get(JSON, 'rawJSON')
  if (typeof rawJson !== 'function') return JSON.parse(text)
  // Proof: `JSON.rawJSON` exists in the runtime; the compiler's library types lack it.
  const keep = rawJson as RawJson
  // Proof: `JSON.parse` passes the source text as the reviver's third argument.
  const parse = JSON.parse as ParseWithSource
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && source !== String(value)
      ? keep(source)
      : value,
  )
}

/**
 * Validated JSON that is parsed where it is used, for example on a policy worker thread: parsing a
 * plan of 50 MB would block the event loop for a second. A plain object, so that it can be sent to
 * a thread; large documents are in shared memory.
 */
export interface JsonBytes {
  /** UTF-8. */
  readonly json: Uint8Array
}
