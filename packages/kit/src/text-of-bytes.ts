import { decodeUtf8 } from './utf8.ts'

/** Decodes UTF-8; each invalid byte becomes U+FFFD. */
export function textOfBytes(bytes: Uint8Array): string {
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
