/** String literals with the escapes of Go, which the filter grammar uses. */

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
}

/**
 * A part of a quoted string: plain characters, a run of byte escapes, a code point escape or a
 * simple one. Byte escapes come in runs because several may encode one character.
 */
const PIECE = new RegExp(
  [
    String.raw`([^\\\n"]+)`,
    String.raw`((?:\\x[0-9a-fA-F]{2}|\\[0-7]{3})+)`,
    String.raw`\\u([0-9a-fA-F]{4})`,
    String.raw`\\U([0-9a-fA-F]{8})`,
    String.raw`\\([abfnrtv\\"])`,
  ].join('|'),
  'y',
)

/**
 * Resolves the escapes of a double-quoted string; undefined if an escape is invalid or a line
 * breaks.
 */
export function unescapeQuoted(inner: string): string | undefined {
  let result = ''
  let at = 0
  while (at < inner.length) {
    PIECE.lastIndex = at
    const match = PIECE.exec(inner)
    if (match === null) return undefined
    const [whole, plain, bytes, short, long, simple = ''] = match
    const codePoint = short ?? long
    const piece =
      plain ??
      (bytes !== undefined
        ? decodeBytes(bytes)
        : codePoint !== undefined
          ? decodeCodePoint(codePoint)
          : SIMPLE_ESCAPES[simple])
    if (piece === undefined) return undefined
    result += piece
    at += whole.length
  }
  return result
}

/** Reads a back-quoted string: as written, without carriage returns. */
export function unescapeRaw(inner: string): string {
  return inner.replaceAll('\r', '')
}

function decodeCodePoint(hex: string): string | undefined {
  const code = Number.parseInt(hex, 16)
  const isSurrogate = code >= 0xd800 && code <= 0xdfff
  return code > 0x10ffff || isSurrogate ? undefined : String.fromCodePoint(code)
}

/** Byte escapes encode UTF-8. Other bytes are rejected: no string of a row could equal them. */
function decodeBytes(escapes: string): string | undefined {
  let encoded = ''
  for (const [, hex, octal] of escapes.matchAll(/\\x(..)|\\(\d{3})/g)) {
    const byte = hex !== undefined ? Number.parseInt(hex, 16) : Number.parseInt(octal ?? '', 8)
    if (byte > 0xff) return undefined
    encoded += `%${byte.toString(16).padStart(2, '0')}`
  }
  try {
    return decodeURIComponent(encoded)
  } catch (thrown) {
    if (thrown instanceof URIError) return undefined
    throw thrown
  }
}

const QUOTED_ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}

/** Quotes text for error messages. */
export function quote(text: string): string {
  return `"${text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escapeCharacter)}"`
}

function escapeCharacter(character: string): string {
  const known = QUOTED_ESCAPES[character]
  if (known !== undefined) return known
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
}
