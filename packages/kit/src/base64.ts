/** Standard base64 with padding, as byte arrays appear on the wire. */
export function encodeBase64(bytes: Uint8Array): string {
  return bytes.toBase64()
}

/** Whether the text is standard base64 with padding, on one line. Linear time. */
export function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.slice(0, text.length - padding)
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(digits)
}

/**
 * Decodes standard base64 with padding; undefined if invalid. Line breaks are allowed, as in files
 * that other tools wrap. `Uint8Array.fromBase64` alone would also accept spaces and missing
 * padding.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replace(/[\r\n]+/g, '')
  // Unused trailing bits may be set: Go's decoder accepts them.
  return isBase64(packed) ? Uint8Array.fromBase64(packed) : undefined
}

/** Decodes base64url without padding, as in tokens and keys; undefined if invalid. */
export function decodeBase64Url(text: string): Uint8Array | undefined {
  if (/[^A-Za-z0-9_-]/.test(text) || text.length % 4 === 1) return undefined
  return Uint8Array.fromBase64(text, { alphabet: 'base64url' })
}

export function encodeBase64Url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: 'base64url', omitPadding: true })
}
