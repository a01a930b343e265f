/** Standard base64 with padding, the wire form of byte arrays. */
export function encodeBase64(bytes: Uint8Array): string {
  return bytes.toBase64()
}

/** Whether the text is standard base64 with padding, in one line. Takes one pass over the text. */
export function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.slice(0, text.length - padding)
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(digits)
}

/**
 * The bytes of standard base64 with padding; undefined when it is none. Line ends between the
 * characters are allowed, as in files wrapped by other tools; the language's own reader would also
 * skip blanks and accept missing padding.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replace(/[\r\n]+/g, '')
  // The last bits of a group may be set, as Go's decoder allows.
  return isBase64(packed) ? Uint8Array.fromBase64(packed) : undefined
}

/** Without padding, as tokens and keys have it; undefined when the text is no such text. */
export function decodeBase64Url(text: string): Uint8Array | undefined {
  if (/[^A-Za-z0-9_-]/.test(text) || text.length % 4 === 1) return undefined
  return Uint8Array.fromBase64(text, { alphabet: 'base64url' })
}

export function encodeBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true })
}
