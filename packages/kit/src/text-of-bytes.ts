import { decodeUtf8 } from './utf8.ts'

/** Bytes as a text; what is no UTF-8 becomes U+FFFD, byte by byte, as a text cannot hold it. */
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
