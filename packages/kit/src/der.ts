import { bytesToBigInt } from './bytes.ts'

/** Maximum size of one certificate, request or key. */
const DER_BYTES_MAX = 256 * 1024

/** Maximum nesting in encoded keys and certificates. */
const DER_DEPTH_MAX = 32

/** One element in the Distinguished Encoding Rules (X.690). */
export interface DerItem {
  /** Identifier byte: class, constructed flag and number. */
  readonly tag: number
  readonly content: Uint8Array
  /** The bytes of the element with tag and length. */
  readonly encoded: Uint8Array
}

export const DER_TAG = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  oid: 0x06,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalTime: 0x18,
} as const

/** Reads consecutive elements; undefined if the bytes are not valid DER. */
export function readDer(bytes: Uint8Array): readonly DerItem[] | undefined {
  if (bytes.length > DER_BYTES_MAX) return undefined
  const items: DerItem[] = []
  for (let at = 0; at < bytes.length;) {
    const item = readItem(bytes, at)
    if (item === undefined) return undefined
    items.push(item)
    at += item.encoded.length
  }
  return items
}

/** Reads exactly one element. */
export function readSingleDer(bytes: Uint8Array): DerItem | undefined {
  const items = readDer(bytes)
  return items?.length === 1 ? items[0] : undefined
}

/** The elements inside a sequence, set or tagged element; otherwise none. */
export function sequenceItems(item: DerItem | undefined): readonly DerItem[] {
  if (item === undefined || (item.tag & 0x20) === 0) return []
  return readDer(item.content) ?? []
}

/** Whether all nested elements are readable too, so that truncated input is rejected early. */
export function isWellFormed(item: DerItem, depth = 0): boolean {
  if (depth > DER_DEPTH_MAX) return false
  if ((item.tag & 0x20) === 0) return true
  const items = readDer(item.content)
  return items !== undefined && items.every((inner) => isWellFormed(inner, depth + 1))
}

function readItem(bytes: Uint8Array, at: number): DerItem | undefined {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) return undefined
  // A length below 128 takes one byte. Otherwise the byte holds the number of length bytes.
  const count = first < 0x80 ? 0 : first & 0x7f
  if (first === 0x80 || count > 4) return undefined
  let length = first < 0x80 ? first : 0
  for (const byte of bytes.subarray(at + 2, at + 2 + count)) length = length * 256 + byte
  const start = at + 2 + count
  const end = start + length
  if (end > bytes.length) return undefined
  return { tag, content: bytes.subarray(start, end), encoded: bytes.subarray(at, end) }
}

/** Reads a two's complement integer. */
export function integerOf(item: DerItem | undefined): bigint | undefined {
  if (item?.tag !== DER_TAG.integer || item.content.length === 0) return undefined
  const size = bytesToBigInt(item.content)
  const isNegative = (item.content[0] ?? 0) >= 0x80
  return isNegative ? size - (1n << BigInt(item.content.length * 8)) : size
}

/** For example `1.2.840.113549`. */
export function oidOf(item: DerItem | undefined): string | undefined {
  if (item?.tag !== DER_TAG.oid || item.content.length === 0) return undefined
  const numbers: bigint[] = []
  let number = 0n
  for (const byte of item.content) {
    number = (number << 7n) | BigInt(byte & 0x7f)
    if (byte >= 0x80) continue
    numbers.push(number)
    number = 0n
  }
  const [first = 0n, ...rest] = numbers
  const top = first < 80n ? first / 40n : 2n
  return [top, first - top * 40n, ...rest].join('.')
}

/** The bytes of a bit string, including the unused bits of its last byte. */
export function bitStringOf(item: DerItem | undefined): Uint8Array | undefined {
  return item?.tag === DER_TAG.bits && item.content.length > 0
    ? item.content.subarray(1)
    : undefined
}
