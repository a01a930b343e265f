import { toBigInt } from './rsa.ts'

/** The few kinds of items that keys are made of. */
export type DerItem =
  | { readonly tag: 'sequence'; readonly items: readonly DerItem[] }
  | { readonly tag: 'integer'; readonly value: bigint }
  | { readonly tag: 'octets'; readonly bytes: Uint8Array }
  | { readonly tag: 'other' }

/** Sequences inside one another; a key has two. */
const DEPTH_MAX = 8

/** The items of a text in distinguished encoding (X.690); undefined when it is none. */
export function readDer(bytes: Uint8Array, depth = 0): readonly DerItem[] | undefined {
  if (depth > DEPTH_MAX) return undefined
  const items: DerItem[] = []
  for (let at = 0; at < bytes.length;) {
    const header = readLength(bytes, at + 1)
    if (header === undefined) return undefined
    const { start, end } = header
    const item = readItem(bytes[at] ?? 0, bytes.subarray(start, end), depth)
    if (item === undefined) return undefined
    items.push(item)
    at = end
  }
  return items
}

function readItem(tag: number, content: Uint8Array, depth: number): DerItem | undefined {
  if (tag === 0x02) return { tag: 'integer', value: toBigInt(content) }
  if (tag === 0x04) return { tag: 'octets', bytes: content }
  if (tag !== 0x30) return { tag: 'other' }
  const items = readDer(content, depth + 1)
  return items === undefined ? undefined : { tag: 'sequence', items }
}

/** Where the content is: a length below 128 is one byte, others say how many bytes follow. */
function readLength(
  bytes: Uint8Array,
  at: number,
): { readonly start: number; readonly end: number } | undefined {
  const first = bytes[at]
  if (first === undefined) return undefined
  const count = first < 0x80 ? 0 : first & 0x7f
  if (count > 4 || first === 0x80) return undefined
  let length = first < 0x80 ? first : 0
  for (const byte of bytes.subarray(at + 1, at + 1 + count)) length = length * 256 + byte
  const start = at + 1 + count
  const end = start + length
  return end <= bytes.length ? { start, end } : undefined
}
