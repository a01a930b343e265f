import { crc32 } from 'node:zlib'
import {
  chunksLength,
  joinChunks,
  UTF8_BYTES_PER_UNIT_MAX,
  type StringChunks,
} from '@reeve/kit/string-chunks.ts'
import type { LogEntry } from '../../state/index.ts'
import { escapeText, needsEscape, unescapeText } from './text-escape.ts'

/** A key or value is not what was written. The engine makes it a fault that names the place. */
export class UnreadableValue extends Error {
  override readonly name: string = 'UnreadableValue'
}

export class UnreadableRow extends UnreadableValue {
  override readonly name = 'UnreadableRow'
  readonly key: string

  constructor(key: string) {
    super('its checksum does not match')
    this.key = key
  }
}

/** Digits of the largest index a number holds exactly: fixed width makes keys sort by index. */
const INDEX_DIGITS = 16
export const CRC_DIGITS = 8
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

export const blobRange = { gte: 'b', lt: 'c' } as const

export function blobNameOf(key: string): string {
  return unescapeText(key.slice(1))
}

export function rowKey(table: string, key: string): string {
  return `r${escapeText(table)}${SEPARATOR}${escapeText(key)}`
}

/** A text under a key, preceded by a checksum over both: found under another key it is as wrong. */
export function seal(key: string, text: string): string {
  return crcDigits(checksum(key, text)) + text
}

export function unseal(key: string, value: string): string {
  const text = value.slice(CRC_DIGITS)
  assertChecksum(value, checksum(key, text))
  return text
}

/** Bytes for one value at a time: the database copies what it is given. */
const SCRATCH_BYTES_MIN = 256 * 1024
let scratch = Buffer.allocUnsafe(SCRATCH_BYTES_MIN)
/** A larger one is let go after the value that needed it. */
const SCRATCH_BYTES_KEPT = 4 * 1024 * 1024

/**
 * The value of a row, as bytes that are made once: the database would turn a text into them twice
 * over, and the checksum a third time. Good until the next call.
 */
export function toRowValue(key: string, content: StringChunks): Uint8Array {
  const parts = typeof content === 'string' ? [content] : content
  let text = textInScratch(parts)
  if (!isPlain(parts, text)) text = textInScratch([escapeText(joinChunks(content))])
  writeCrcDigits(scratch, checksum(key, text))
  return scratch.subarray(0, CRC_DIGITS + text.length)
}

/** Writes a text behind the place of the checksum. */
function textInScratch(parts: readonly string[]): Buffer {
  const bytesMax = CRC_DIGITS + chunksLength(parts) * UTF8_BYTES_PER_UNIT_MAX
  if (bytesMax > scratch.length || scratch.length > SCRATCH_BYTES_KEPT)
    scratch = Buffer.allocUnsafe(Math.max(bytesMax, SCRATCH_BYTES_MIN))
  let end = CRC_DIGITS
  for (const part of parts) end += scratch.write(part, end)
  return scratch.subarray(CRC_DIGITS, end)
}

/** Whether a text is in its bytes exactly, with nothing that is to be escaped. */
function isPlain(parts: readonly string[], bytes: Buffer): boolean {
  // As many bytes as units: all of it is ASCII.
  const isExact = bytes.length === chunksLength(parts) || parts.every((part) => part.isWellFormed())
  return isExact && !needsEscape(bytes)
}

export function fromLogValue(key: string, value: string): LogEntry {
  const colon = value.indexOf(':') + 1
  const time = value.slice(CRC_DIGITS, colon)
  const text = value.slice(colon)
  assertChecksum(value, checksum(key + time, text))
  return {
    index: logIndexOf(key),
    timeMs: Number.parseFloat(time),
    text: unescapeText(text),
    blobs: [],
  }
}

/** The key is mixed in as the starting value: a second call of the native function costs more. */
function checksum(key: string, content: string | Uint8Array): number {
  let start = 0x811c9dc5
  for (let at = 0; at < key.length; at++) {
    start = Math.imul(start ^ key.charCodeAt(at), 0x01000193)
  }
  return crc32(content, start >>> 0)
}

function crcDigits(crc: number): string {
  return crc.toString(16).padStart(CRC_DIGITS, '0')
}

const HEX_DIGITS = Buffer.from('0123456789abcdef')

/** The same as bytes, without a text in between. */
function writeCrcDigits(bytes: Uint8Array, crc: number): void {
  for (let at = CRC_DIGITS - 1, rest = crc; at >= 0; at--, rest >>>= 4)
    bytes[at] = HEX_DIGITS[rest & 0xf] ?? 0
}

function assertChecksum(value: string, crc: number): void {
  let stored = 0
  for (let at = 0; at < CRC_DIGITS; at++) stored = stored * 16 + hexDigit(value.charCodeAt(at))
  if (stored !== crc) throw new UnreadableValue('its checksum does not match')
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : Number.NaN
}

/** The table and the key of a row, from its key in the database. */
export function rowNameOf(stored: string): { readonly table: string; readonly key: string } {
  const separator = stored.indexOf(SEPARATOR)
  return {
    table: unescapeText(stored.slice(1, separator)),
    key: unescapeText(stored.slice(separator + 1)),
  }
}

/** Throws UnreadableRow where the value is not one that `toRowValue` made for this key. */
export function assertRowValue(key: string, value: Uint8Array): void {
  let stored = 0
  for (let at = 0; at < CRC_DIGITS; at++) stored = stored * 16 + hexDigit(value[at] ?? Number.NaN)
  if (stored !== checksum(key, value.subarray(CRC_DIGITS))) throw new UnreadableRow(key)
}

/** The checksum goes last, so that the bytes handed out need not be copied. */
export function toBlobValue(key: string, bytes: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(bytes.length + CRC_BYTES)
  value.set(bytes)
  value.writeUInt32LE(checksum(key, bytes), bytes.length)
  return value
}

export function fromBlobValue(key: string, value: Uint8Array): Uint8Array {
  const end = value.length - CRC_BYTES
  if (end < 0) throw new UnreadableValue('it is too short')
  const bytes = value.subarray(0, end)
  const stored = new DataView(value.buffer, value.byteOffset, value.length).getUint32(end, true)
  if (stored !== checksum(key, bytes)) throw new UnreadableValue('its checksum does not match')
  return bytes
}
