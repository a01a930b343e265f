import { encodeUtf8 } from '@reeve/kit/utf8.ts'

/**
 * Strings of the language are byte sequences, but nearly all are text. They are JavaScript strings
 * here; a byte that is not part of a UTF-8 character is the lone surrogate U+DC00 + byte, which
 * valid text cannot contain.
 */
const ESCAPE_BASE = 0xdc00
// eslint-disable-next-line no-control-regex -- the range is ASCII
const ASCII = /^[\0-\x7f]*$/
const ESCAPED = /(?<![\ud800-\udbff])[\udc80-\udcff]/

function isAscii(text: string): boolean {
  return ASCII.test(text)
}

export function byteLength(text: string): number {
  return isAscii(text) ? text.length : bytesOfText(text).length
}

export function bytesOfText(text: string): Uint8Array {
  if (!ESCAPED.test(text)) return encodeUtf8(text)
  const bytes: number[] = []
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    if (code >= ESCAPE_BASE + 0x80 && code <= ESCAPE_BASE + 0xff) bytes.push(code - ESCAPE_BASE)
    else bytes.push(...encodeUtf8(character))
  }
  return Uint8Array.from(bytes)
}

export function textOfBytes(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at)
    if (length === 0) {
      text += String.fromCharCode(ESCAPE_BASE + (bytes[at] ?? 0))
      at++
    } else {
      text += String.fromCodePoint(codePointOf(bytes.subarray(at, at + length)))
      at += length
    }
  }
  return text
}

/** Concatenates strings: invalid bytes on both sides may form a character together. */
export function joinTexts(left: string, right: string): string {
  const joined = left + right
  if (!ESCAPED.test(left.slice(-3)) && !ESCAPED.test(right.slice(0, 3))) return joined
  return textOfBytes(bytesOfText(joined))
}

export function sliceBytes(text: string, from: number, to: number): string {
  return isAscii(text) ? text.slice(from, to) : textOfBytes(bytesOfText(text).subarray(from, to))
}

/** Compares by bytes, which for valid text is the order of code points. */
export function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  if (isAscii(left) && isAscii(right)) return left < right ? -1 : 1
  const [a, b] = [bytesOfText(left), bytesOfText(right)]
  const shorter = Math.min(a.length, b.length)
  for (let at = 0; at < shorter; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return Math.sign(difference)
  }
  return Math.sign(a.length - b.length)
}

const LEADS = [
  { length: 1, mask: 0x80, lead: 0x00, codeMin: 0 },
  { length: 2, mask: 0xe0, lead: 0xc0, codeMin: 0x80 },
  { length: 3, mask: 0xf0, lead: 0xe0, codeMin: 0x800 },
  { length: 4, mask: 0xf8, lead: 0xf0, codeMin: 0x10000 },
] as const

/** Number of bytes of the character that starts here; 0 if there is none. */
function characterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0
  const kind = LEADS.find(({ mask, lead }) => (first & mask) === lead)
  if (kind === undefined || at + kind.length > bytes.length) return 0
  for (let next = 1; next < kind.length; next++)
    if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return 0
  const code = codePointOf(bytes.subarray(at, at + kind.length))
  const isSurrogate = code >= 0xd800 && code < 0xe000
  return code < kind.codeMin || isSurrogate || code > 0x10ffff ? 0 : kind.length
}

function codePointOf(bytes: Uint8Array): number {
  const kind = LEADS[bytes.length - 1]
  let code = (bytes[0] ?? 0) & ~(kind?.mask ?? 0) & 0xff
  for (const byte of bytes.subarray(1)) code = (code << 6) | (byte & 0x3f)
  return code
}
