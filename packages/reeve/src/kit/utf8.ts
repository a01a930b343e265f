/** The UTF-8 bytes of a text; a lone surrogate becomes U+FFFD. Pure code has no `TextEncoder`. */
export function encodeUtf8(text: string): Uint8Array {
  // A UTF-16 code unit never needs more than three bytes; a pair needs four for two units.
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
