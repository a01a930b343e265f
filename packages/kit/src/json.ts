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

/** Memory of the parts of a document in `parseExactJson`, measured with documents of one kind. */
const CONTAINER_BYTES = 400
const VALUE_BYTES = 140
const STRING_BYTES = 60
/** Added to the string that is a name. */
const NAME_BYTES = 60
/** Added for a number whose source text is kept. */
const EXACT_NUMBER_BYTES = 190
/** A double keeps this many digits. */
const DOUBLE_DIGITS = 15

/**
 * Returns how much memory `parseExactJson` takes for a text, at most, in one pass and without
 * parsing. The parser is native: in a thread it goes on beyond the limit of the heap, and the
 * runtime then ends the whole process instead of the thread.
 */
export function exactJsonMemoryBytes(json: string | Uint8Array): number {
  const codeAt =
    typeof json === 'string' ? (at: number) => json.charCodeAt(at) : (at: number) => json[at] ?? 0
  let memoryBytes = 2 * json.length
  let digits = 0
  for (let at = 0; at < json.length; at++) {
    const code = codeAt(at)
    if (code >= ZERO && code <= NINE) {
      digits += 1
      if (digits === DOUBLE_DIGITS + 1) memoryBytes += EXACT_NUMBER_BYTES
      continue
    }
    if (code === DOT || (digits > 0 && (code | LOWERCASE_BIT) === EXPONENT))
      memoryBytes += EXACT_NUMBER_BYTES
    digits = 0
    if (code === QUOTE) {
      at = endOfString(codeAt, json.length, at)
      memoryBytes += STRING_BYTES
    } else if (code === COMMA) memoryBytes += VALUE_BYTES
    else if (code === COLON) memoryBytes += NAME_BYTES
    else if ((code | LOWERCASE_BIT) === OPEN_BRACE) memoryBytes += CONTAINER_BYTES
  }
  return memoryBytes
}

function endOfString(codeAt: (at: number) => number, length: number, start: number): number {
  for (let at = start + 1; at < length; at++) {
    const code = codeAt(at)
    if (code === BACKSLASH) at += 1
    else if (code === QUOTE) return at
  }
  return length
}

/** Memory that JSON inside a policy or a template may take. */
export const EMBEDDED_JSON_MEMORY_BYTES_MAX = 128 * 1024 * 1024

const QUOTE = 0x22
const COMMA = 0x2c
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const BACKSLASH = 0x5c
const EXPONENT = 0x65
const OPEN_BRACE = 0x7b
/** The only bit in which `[` and `{`, and `E` and `e`, differ. */
const LOWERCASE_BIT = 0x20

/**
 * Validated JSON that is parsed where it is used, for example on a policy worker thread: parsing a
 * plan of 50 MB would block the event loop for a second. A plain object, so that it can be sent to
 * a thread; large documents are in shared memory.
 */
export interface JsonBytes {
  /** UTF-8. */
  readonly json: Uint8Array
}
