import { open, type FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { isSoundRecord, RECORD_HEAD_BYTES, RECORD_MAGIC, recordHead } from './record.ts'

/** Digits of the largest index a number holds exactly: names sort by index. */
const INDEX_DIGITS = 16
const FILE_MAGIC = 'reevelog'
/** magic 8 | first index 8 | first index and bytes of the file before 16 | salt 4 | checksum 4 */
export const FILE_HEAD_BYTES = 40
const CHECKED_TO = 36
/** What is read of a file at once. */
const WINDOW_BYTES = 256 * 1024

/** The log's files are not what was written. */
export class DamagedLog extends Error {
  override readonly name: string = 'DamagedLog'
}

/** What stands at the beginning of a file, durable before its first record. */
export interface LogFileHead {
  readonly firstIndex: number
  /** The file before it, as it was left; a first index of 0 when there is none. */
  readonly before: { readonly firstIndex: number; readonly bytes: number }
  /** Any number; see record.ts. */
  readonly salt: number
}

export function logFileName(firstIndex: number): string {
  return `${String(firstIndex).padStart(INDEX_DIGITS, '0')}.log`
}

/** The first index that a file's name says; undefined for files that are none of the log's. */
export function firstIndexOf(name: string): number | undefined {
  return /^\d{16}\.log$/.test(name) ? Number.parseInt(name, 10) : undefined
}

export function encodeFileHead({ firstIndex, before, salt }: LogFileHead): Buffer {
  const bytes = Buffer.alloc(FILE_HEAD_BYTES)
  bytes.write(FILE_MAGIC, 0, 'latin1')
  bytes.writeDoubleLE(firstIndex, 8)
  bytes.writeDoubleLE(before.firstIndex, 16)
  bytes.writeDoubleLE(before.bytes, 24)
  bytes.writeUInt32LE(salt, 32)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, CHECKED_TO)), CHECKED_TO)
  return bytes
}

/** Undefined when these bytes are no head of a log file. */
export function decodeFileHead(bytes: Buffer): LogFileHead | undefined {
  if (bytes.length < FILE_HEAD_BYTES) return undefined
  if (bytes.toString('latin1', 0, FILE_MAGIC.length) !== FILE_MAGIC) return undefined
  if (crc32(bytes.subarray(0, CHECKED_TO)) !== bytes.readUInt32LE(CHECKED_TO)) return undefined
  return {
    firstIndex: bytes.readDoubleLE(8),
    before: { firstIndex: bytes.readDoubleLE(16), bytes: bytes.readDoubleLE(24) },
    salt: bytes.readUInt32LE(32),
  }
}

/** A file that is read from one place on. */
export interface LogSource {
  readonly path: string
  readonly salt: number
  /** Where its records end as far as anybody knows. */
  readonly bytes: number
  /** Where to begin, and the index that must stand there. */
  readonly from: LogPlace
}

export interface LogPlace {
  readonly index: number
  readonly offset: number
}

/** A sound record; its bytes are good until the next one is asked for. */
export interface FoundRecord extends LogPlace {
  readonly bytes: Buffer
  readonly entries: number
  readonly blobs: number
}

/** Where a file's sound records end. */
export interface LogEnd extends LogPlace {
  /** Something stands behind it that is no record. */
  readonly isTorn: boolean
  /** How many bytes that is. */
  readonly tornBytes: number
}

/** The records of a file, in order, up to the first that is not sound. Returns where that is. */
export async function* recordsOf(source: LogSource): AsyncGenerator<FoundRecord, LogEnd> {
  const handle = await open(source.path, 'r')
  try {
    const window = new FileWindow(handle)
    let { index, offset } = source.from
    while (offset < source.bytes) {
      const record = await recordAt(window, source, offset)
      if (record === undefined || record.head.firstIndex !== index)
        return { index, offset, isTorn: true, tornBytes: source.bytes - offset }
      const { entries, blobs, bytes } = record.head
      yield { index, offset, entries, blobs, bytes: record.bytes }
      index += entries
      offset += bytes
    }
    return { index, offset, isTorn: false, tornBytes: 0 }
  } finally {
    await handle.close()
  }
}

async function recordAt(window: FileWindow, source: LogSource, offset: number) {
  const head = recordHead(await window.bytes(offset, RECORD_HEAD_BYTES))
  if (head === undefined || offset + head.bytes > source.bytes) return undefined
  const bytes = await window.bytes(offset, head.bytes)
  if (bytes.length < head.bytes || !isSoundRecord(bytes, source.salt)) return undefined
  return { head, bytes }
}

/**
 * The next sound record behind a place where none is. Every record is durable before the next is
 * written: a power cut tears the last one only, so where another follows something was lost.
 */
export async function findSoundRecord(
  source: LogSource,
  { index, offset }: LogPlace,
): Promise<LogPlace | undefined> {
  const handle = await open(source.path, 'r')
  try {
    const window = new FileWindow(handle)
    for (let at = offset + 1; at < source.bytes;) {
      const part = await window.bytes(at, WINDOW_BYTES)
      const found = part.indexOf(RECORD_MAGIC)
      if (found === -1) {
        // The magic may stand across the border of two parts.
        if (part.length <= RECORD_MAGIC.length) return undefined
        at += part.length - RECORD_MAGIC.length + 1
        continue
      }
      const record = await recordAt(window, source, at + found)
      if (record !== undefined && record.head.firstIndex >= index)
        return { index: record.head.firstIndex, offset: at + found }
      at += found + 1
    }
    return undefined
  } finally {
    await handle.close()
  }
}

/** Reads a file piece by piece, many small parts with one call. */
class FileWindow {
  readonly #handle: FileHandle
  #buffer = Buffer.allocUnsafe(WINDOW_BYTES)
  #from = 0
  #held = 0

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Fewer at the end of the file. Good until the next call. */
  async bytes(at: number, length: number): Promise<Buffer> {
    if (at < this.#from || at + length > this.#from + this.#held) await this.#load(at, length)
    const begin = at - this.#from
    return this.#buffer.subarray(begin, Math.min(begin + length, this.#held))
  }

  async #load(at: number, length: number): Promise<void> {
    if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(length)
    this.#from = at
    this.#held = 0
    while (this.#held < length) {
      const room = this.#buffer.length - this.#held
      const { bytesRead } = await this.#handle.read(this.#buffer, this.#held, room, at + this.#held)
      if (bytesRead === 0) return
      this.#held += bytesRead
    }
  }
}
