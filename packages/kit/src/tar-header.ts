import { err, ok, type Result } from './result.ts'
import { decodeUtf8 } from './utf8.ts'

/** Headers and bodies of a tar archive are padded to whole blocks. */
export const TAR_BLOCK_BYTES = 512

export interface TarHeader {
  readonly path: string
  readonly mode: number
  readonly owner: { readonly uid: number; readonly gid: number }
  readonly size: number
  /** `0` is a file, `5` a directory, `L` a long name. */
  readonly type: string
  readonly target: string
}

export function paddedToBlocks(size: number): number {
  return Math.ceil(size / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES
}

/** Reads a header block in old, POSIX or GNU format. */
export function readTarHeader(block: Uint8Array): Result<TarHeader, string> {
  const field = (from: number, to: number) => block.subarray(from, to)
  const checksum = readNumber(field(148, 156))
  const mode = readNumber(field(100, 108))
  const [uid, gid] = [readNumber(field(108, 116)), readNumber(field(116, 124))]
  const size = readNumber(field(124, 136))
  if (mode === undefined || uid === undefined || gid === undefined || size === undefined)
    return DAMAGED
  if (checksum !== headerChecksum(block)) return DAMAGED
  const isPosix =
    decodeTarText(field(257, 262)) === 'ustar' && decodeTarText(field(257, 265)) !== 'ustar  '
  const prefix = isPosix ? decodeTarText(field(345, 500)) : ''
  const name = decodeTarText(field(0, 100))
  return ok({
    path: prefix === '' ? name : `${prefix}/${name}`,
    mode,
    owner: { uid, gid },
    size,
    type: String.fromCharCode(block[156] ?? 0),
    target: decodeTarText(field(157, 257)),
  })
}

const DAMAGED = err('a tar header is damaged')

/** Sum of all header bytes; the checksum field itself counts as spaces. */
function headerChecksum(block: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < TAR_BLOCK_BYTES; at++) sum += at >= 148 && at < 156 ? 32 : (block[at] ?? 0)
  return sum
}

/** Octal digits or, for large numbers, binary with the first bit set. */
function readNumber(field: Uint8Array): number | undefined {
  const [first = 0] = field
  if (first < 0x80) {
    const text = decodeTarText(field).trim()
    if (text === '') return 0
    return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : undefined
  }
  const value = field.subarray(1).reduce((total, byte) => total * 256 + byte, first & 0x7f)
  return Number.isSafeInteger(value) ? value : undefined
}

/** Parses `<length> <key>=<value>\n` records. The length counts the whole record in bytes. */
export function readPaxRecords(body: Uint8Array): Result<ReadonlyMap<string, string>, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < body.length;) {
    const blank = body.indexOf(0x20, at)
    const length = blank < 0 ? NaN : Number(decodeTarText(body.subarray(at, blank)))
    if (!Number.isInteger(length) || length <= blank - at || at + length > body.length)
      return err('a tar record is damaged')
    const line = decodeTarText(body.subarray(blank + 1, at + length - 1))
    const equals = line.indexOf('=')
    records.set(line.slice(0, equals), line.slice(equals + 1))
    at += length
  }
  return ok(records)
}

/** Decodes up to a zero byte. A name that is not UTF-8 is decoded as Latin-1. */
export function decodeTarText(field: Uint8Array): string {
  const end = field.indexOf(0)
  const bytes = end < 0 ? field : field.subarray(0, end)
  return decodeUtf8(bytes) ?? Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
}
