import { crc32 } from 'node:zlib'
import type { LogEntry, StoredRow } from '../../state/index.ts'
import { escapeText, unescapeText } from './text-escape.ts'

/** What a key or value of the database says is wrong. The engine turns it into a fault with the place. */
export class UnreadableValue extends Error {
  override readonly name: string = 'UnreadableValue'
}

/** Digits of the largest index a number holds exactly: fixed width makes keys sort by index. */
const INDEX_DIGITS = 16
const CRC_DIGITS = 8
const CRC_BYTES = 4
const SEPARATOR = '\u0000'

/** Each kind of value has its own range of keys, told apart by the first letter. See README.md. */
export const metaKeys = { format: 'mformat', checkpoint: 'mcheckpoint', first: 'mfirst' } as const
export const rowRange = { gte: 'r', lt: 's' } as const

export function logKey(index: number): string {
  return `l${String(index).padStart(INDEX_DIGITS, '0')}`
}

export function logIndexOf(key: string): number {
  const index = Number(key.slice(1))
  if (key.length !== INDEX_DIGITS + 1 || !Number.isSafeInteger(index) || index < 1) {
    throw new UnreadableValue('a log entry has an unreadable key')
  }
  return index
}

/** Entries from one index to another, both included. */
export function logRange(from: number, to: number): { gte: string; lte: string } {
  return { gte: logKey(Math.max(1, from)), lte: logKey(to) }
}

export function blobKey(key: string): string {
  return `b${escapeText(key)}`
}

export function rowKey(table: string, key: string): string {
  return `r${escapeText(table)}${SEPARATOR}${escapeText(key)}`
}

/** The checksum covers the key too: a value found under another key is as wrong as a changed one. */
export function seal(key: string, text: string): string {
  return checksum(key, text) + text
}

export function unseal(key: string, value: string): string {
  const text = value.slice(CRC_DIGITS)
  if (!value.startsWith(checksum(key, text))) {
    throw new UnreadableValue('its checksum does not match')
  }
  return text
}

/** `before` is what the checksum covers besides the text. Kept apart: joining long texts copies them. */
function checksum(before: string, text: string): string {
  return crc32(text, crc32(before)).toString(16).padStart(CRC_DIGITS, '0')
}

export function toLogValue(key: string, entry: LogEntry): string {
  const time = `${entry.timeMs}:`
  const text = escapeText(entry.text)
  return checksum(key + time, text) + time + text
}

export function fromLogValue(key: string, value: string): LogEntry {
  const colon = value.indexOf(':') + 1
  const time = value.slice(CRC_DIGITS, colon)
  const text = value.slice(colon)
  if (!value.startsWith(checksum(key + time, text))) {
    throw new UnreadableValue('its checksum does not match')
  }
  return {
    index: logIndexOf(key),
    timeMs: Number.parseFloat(time),
    text: unescapeText(text),
    blobs: [],
  }
}

export function toRowValue(key: string, text: string): string {
  return seal(key, escapeText(text))
}

export function fromRowValue(key: string, value: string): StoredRow {
  const text = unescapeText(unseal(key, value))
  const separator = key.indexOf(SEPARATOR)
  return {
    table: unescapeText(key.slice(1, separator)),
    key: unescapeText(key.slice(separator + 1)),
    text,
  }
}

/** The checksum goes last, so that the bytes handed out are those the database gave us, uncopied. */
export function toBlobValue(key: string, bytes: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(bytes.length + CRC_BYTES)
  value.set(bytes)
  value.writeUInt32LE(crc32(bytes, crc32(key)), bytes.length)
  return value
}

export function fromBlobValue(key: string, value: Uint8Array): Uint8Array {
  const end = value.length - CRC_BYTES
  if (end < 0) throw new UnreadableValue('it is too short')
  const bytes = value.subarray(0, end)
  const stored = new DataView(value.buffer, value.byteOffset, value.length).getUint32(end, true)
  if (stored !== crc32(bytes, crc32(key))) throw new UnreadableValue('its checksum does not match')
  return bytes
}
