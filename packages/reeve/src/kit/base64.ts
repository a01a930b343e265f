const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Standard base64 with padding, the wire form of byte arrays (reference §0.2). Pure code has no
 * `Buffer`.
 */
export function encodeBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3)
    const group = (a << 16) | (b << 8) | c
    for (const shift of [18, 12, 6, 0]) text += ALPHABET.charAt((group >> shift) & 0x3f)
  }
  const missing = (3 - (bytes.length % 3)) % 3
  return text.slice(0, text.length - missing) + '='.repeat(missing)
}

/** Whether the text is standard base64 with padding, in one line. Takes one pass over the text. */
export function isBase64(text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const digits = text.slice(0, text.length - padding)
  return text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(digits)
}

const VALUE_OF: ReadonlyMap<string, number> = new Map(
  Array.from(ALPHABET, (character, value) => [character, value]),
)

/**
 * The bytes of standard base64 with padding; undefined when it is none. Line ends between the
 * characters are allowed, as in files wrapped by other tools.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  const packed = text.replace(/[\r\n]+/g, '')
  if (packed.length % 4 !== 0) return undefined
  const padding = packed.endsWith('==') ? 2 : packed.endsWith('=') ? 1 : 0
  const bytes = new Uint8Array((packed.length / 4) * 3)
  let group = 0
  let length = 0
  for (let at = 0; at < packed.length; at++) {
    const isPadding = at >= packed.length - padding
    const value = isPadding ? 0 : VALUE_OF.get(packed.charAt(at))
    if (value === undefined) return undefined
    group = (group << 6) | value
    if (at % 4 !== 3) continue
    bytes[length++] = group >> 16
    bytes[length++] = (group >> 8) & 0xff
    bytes[length++] = group & 0xff
    group = 0
  }
  return bytes.subarray(0, length - padding)
}

/** Without padding, as tokens and keys have it; undefined when the text is no such text. */
export function decodeBase64Url(text: string): Uint8Array | undefined {
  if (/[^A-Za-z0-9_-]/.test(text) || text.length % 4 === 1) return undefined
  const padding = '='.repeat((4 - (text.length % 4)) % 4)
  return decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/') + padding)
}

export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
