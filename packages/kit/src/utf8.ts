/** Encodes text as UTF-8; a lone surrogate becomes U+FFFD. Pure code has no `TextEncoder`. */
export function encodeUtf8(text: string): Uint8Array {
  // A UTF-16 code unit takes at most three bytes; a surrogate pair takes four for two units.
  const bytes = new Uint8Array(text.length * 3)
  let length = 0
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0) ?? 0
    if (code < 0x80) {
      bytes[length++] = code
      continue
    }
    if (code < 0x800) bytes[length++] = 0xc0 | (code >> 6)
    else {
      if (code < 0x10000) bytes[length++] = 0xe0 | (code >> 12)
      else {
        bytes[length++] = 0xf0 | (code >> 18)
        bytes[length++] = 0x80 | ((code >> 12) & 0x3f)
      }
      bytes[length++] = 0x80 | ((code >> 6) & 0x3f)
    }
    bytes[length++] = 0x80 | (code & 0x3f)
  }
  return bytes.subarray(0, length)
}

/** Decodes UTF-8; undefined if invalid. A byte order mark is kept. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at] ?? 0
    if (first < 0x80) {
      text += String.fromCharCode(first)
      at++
      continue
    }
    const sequence = SEQUENCES.find(({ mask, lead }) => (first & mask) === lead)
    if (sequence === undefined) return undefined
    let code = first & ~sequence.mask
    for (let next = 1; next < sequence.length; next++) {
      const byte = bytes[at + next] ?? 0
      if ((byte & 0xc0) !== 0x80) return undefined
      code = (code << 6) | (byte & 0x3f)
    }
    // Overlong sequence, surrogate, or beyond the last code point.
    if (code < sequence.codeMin || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
      return undefined
    text += String.fromCodePoint(code)
    at += sequence.length
  }
  return text
}

const SEQUENCES = [
  { length: 2, mask: 0xe0, lead: 0xc0, codeMin: 0x80 },
  { length: 3, mask: 0xf0, lead: 0xe0, codeMin: 0x800 },
  { length: 4, mask: 0xf8, lead: 0xf0, codeMin: 0x10000 },
] as const

/** Decodes UTF-8; each invalid byte becomes U+FFFD. */
export function decodeUtf8Lossy(bytes: Uint8Array): string {
  const whole = decodeUtf8(bytes)
  if (whole !== undefined) return whole
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const size = sequenceSize(bytes[at] ?? 0)
    const character = size === 0 ? undefined : decodeUtf8(bytes.subarray(at, at + size))
    text += character ?? '\ufffd'
    at += character === undefined ? 1 : size
  }
  return text
}

function sequenceSize(first: number): number {
  if (first < 0x80) return 1
  if (first >= 0xf0) return 4
  if (first >= 0xe0) return 3
  return first >= 0xc0 ? 2 : 0
}
