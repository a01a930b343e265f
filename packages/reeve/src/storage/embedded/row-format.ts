import { crc32 } from 'node:zlib'
import {
  chunksLength,
  joinChunks,
  UTF8_BYTES_PER_UNIT_MAX,
  type StringChunks,
} from '@reeve/kit/string-chunks.ts'
import type { LogEntry } from '../../state/index.ts'
import { escapeText, needsEscape, unescapeText } from '../text-escape.ts'

/**
 * A stored key or value does not match its checksum or format. The engine converts it into a fault
 * with its location.
 */
export class ChecksumError extends Error {
  override readonly name: string = 'UnreadableValue'
}

export class RowChecksumError extends ChecksumError {
  override readonly name = 'UnreadableRow'
  readonly key: string

  constructor(key: string) {
    super('its checksum does not match')
    this.key = key
  }
}

/** Digits of the largest exact integer; the fixed width makes keys sort by index. */
const INDEX_DIGITS = 16
export const CRC_HEX_DIGITS = 8
const CRC_BYTES = 4
const SEPARATOR = '\u0000'

/** Each kind of value has its own key range, identified by the first letter. See README.md. */
export const METADATA_KEYS = {
  format: 'mformat',
  checkpoint: 'mcheckpoint',
  first: 'mfirst',
} as const
export const ROW_RANGE = { gte: 'r', lt: 's' } as const

export function logKey(index: number): string {
  return `l${String(index).padStart(INDEX_DIGITS, '0')}`
}

export function logIndexOf(key: string): number {
  const index = Number(key.slice(1))
  if (key.length !== INDEX_DIGITS + 1 || !Number.isSafeInteger(index) || index < 1) {
    throw new ChecksumError('a log entry has an unreadable key')
  }
  return index
}

/** Key range of entries, both ends included. */
export function logRange(from: number, to: number): { gte: string; lte: string } {
  return { gte: logKey(Math.max(1, from)), lte: logKey(to) }
}

export function blobKey(key: string): string {
  return `b${escapeText(key)}`
}

export const BLOB_RANGE = { gte: 'b', lt: 'c' } as const

export function parseBlobKey(key: string): string {
  return unescapeText(key.slice(1))
}

export function rowKey(table: string, key: string): string {
  return `r${escapeText(table)}${SEPARATOR}${escapeText(key)}`
}

/**
 * Prefixes a text with a checksum over key and text, so that a value stored under the wrong key is
 * detected.
 */
export function addChecksum(key: string, text: string): string {
  return formatCrc(keyedChecksum(key, text)) + text
}

export function stripChecksum(key: string, value: string): string {
  const text = value.slice(CRC_HEX_DIGITS)
  assertChecksum(value, keyedChecksum(key, text))
  return text
}

/** Scratch buffer for one value at a time: the database copies its input. */
const SCRATCH_BYTES_MIN = 256 * 1024
let scratch = Buffer.allocUnsafe(SCRATCH_BYTES_MIN)
/** A larger buffer is released after use. */
const SCRATCH_BYTES_RETAINED = 4 * 1024 * 1024

/**
 * Encodes the value of a row once; given a string, the database would encode it twice and the
 * checksum a third time. Valid until the next call.
 */
export function encodeRowValue(key: string, content: StringChunks): Uint8Array {
  const parts = typeof content === 'string' ? [content] : content
  let text = writeToScratch(parts)
  if (!needsNoEscape(parts, text)) text = writeToScratch([escapeText(joinChunks(content))])
  writeCrc(scratch, keyedChecksum(key, text))
  return scratch.subarray(0, CRC_HEX_DIGITS + text.length)
}

/** Writes a text after the space for the checksum. */
function writeToScratch(parts: readonly string[]): Buffer {
  const bytesMax = CRC_HEX_DIGITS + chunksLength(parts) * UTF8_BYTES_PER_UNIT_MAX
  if (bytesMax > scratch.length || scratch.length > SCRATCH_BYTES_RETAINED)
    scratch = Buffer.allocUnsafe(Math.max(bytesMax, SCRATCH_BYTES_MIN))
  let end = CRC_HEX_DIGITS
  for (const part of parts) end += scratch.write(part, end)
  return scratch.subarray(CRC_HEX_DIGITS, end)
}

/** True if the UTF-8 bytes represent the text exactly and need no escaping. */
function needsNoEscape(parts: readonly string[], bytes: Buffer): boolean {
  // Equal numbers of bytes and UTF-16 units mean pure ASCII.
  const isLossless =
    bytes.length === chunksLength(parts) || parts.every((part) => part.isWellFormed())
  return isLossless && !needsEscape(bytes)
}

export function decodeLogValue(key: string, value: string): LogEntry {
  const colon = value.indexOf(':') + 1
  const time = value.slice(CRC_HEX_DIGITS, colon)
  const text = value.slice(colon)
  assertChecksum(value, keyedChecksum(key + time, text))
  return {
    index: logIndexOf(key),
    timeMs: Number.parseFloat(time),
    text: unescapeText(text),
    blobs: [],
  }
}

/** Uses the key as the initial value: a second call of the native function would cost more. */
function keyedChecksum(key: string, content: string | Uint8Array): number {
  let start = 0x811c9dc5
  for (let at = 0; at < key.length; at++) {
    start = Math.imul(start ^ key.charCodeAt(at), 0x01000193)
  }
  return crc32(content, start >>> 0)
}

function formatCrc(crc: number): string {
  return crc.toString(16).padStart(CRC_HEX_DIGITS, '0')
}

const HEX_DIGITS = Buffer.from('0123456789abcdef')

/** Writes the checksum as bytes without creating a string. */
function writeCrc(bytes: Uint8Array, crc: number): void {
  for (let at = CRC_HEX_DIGITS - 1, rest = crc; at >= 0; at--, rest >>>= 4)
    bytes[at] = HEX_DIGITS[rest & 0xf] ?? 0
}

function assertChecksum(value: string, crc: number): void {
  let stored = 0
  for (let at = 0; at < CRC_HEX_DIGITS; at++) stored = stored * 16 + hexDigit(value.charCodeAt(at))
  if (stored !== crc) throw new ChecksumError('its checksum does not match')
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : Number.NaN
}

/** Table and key of a row, parsed from its database key. */
export function parseRowKey(stored: string): { readonly table: string; readonly key: string } {
  const separator = stored.indexOf(SEPARATOR)
  return {
    table: unescapeText(stored.slice(1, separator)),
    key: unescapeText(stored.slice(separator + 1)),
  }
}

/** Throws RowChecksumError if `encodeRowValue` did not create the value for this key. */
export function assertRowValue(key: string, value: Uint8Array): void {
  let stored = 0
  for (let at = 0; at < CRC_HEX_DIGITS; at++)
    stored = stored * 16 + hexDigit(value[at] ?? Number.NaN)
  if (stored !== keyedChecksum(key, value.subarray(CRC_HEX_DIGITS))) throw new RowChecksumError(key)
}

/** The checksum comes last, so that returned bytes need no copy. */
export function encodeBlobValue(key: string, bytes: Uint8Array): Uint8Array {
  const value = Buffer.allocUnsafe(bytes.length + CRC_BYTES)
  value.set(bytes)
  value.writeUInt32LE(keyedChecksum(key, bytes), bytes.length)
  return value
}

export function decodeBlobValue(key: string, value: Uint8Array): Uint8Array {
  const end = value.length - CRC_BYTES
  if (end < 0) throw new ChecksumError('it is too short')
  const bytes = value.subarray(0, end)
  const stored = new DataView(value.buffer, value.byteOffset, value.length).getUint32(end, true)
  if (stored !== keyedChecksum(key, bytes)) throw new ChecksumError('its checksum does not match')
  return bytes
}
