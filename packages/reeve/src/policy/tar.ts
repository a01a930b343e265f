import { decodeUtf8 } from '../kit/utf8.ts'
import { err, ok, type Result } from '../kit/result.ts'

/** Regular files by their path, without `./` before it. */
export type ArchiveFiles = ReadonlyMap<string, Uint8Array>

const BLOCK = 512
/** Entries of any kind: each costs time even when it is empty. */
const ENTRIES_MAX = 10_000

/** The files of a tar archive; else why it is none. Links and devices are left out. */
export function readTar(tar: Uint8Array): Result<ArchiveFiles, string> {
  const files = new Map<string, Uint8Array>()
  let longName: string | undefined
  let at = 0
  for (let entries = 0; at + BLOCK <= tar.length; entries++) {
    const block = tar.subarray(at, at + BLOCK)
    const sum = sumOf(block)
    if (sum === 0) return ok(files)
    if (entries >= ENTRIES_MAX) return err(`The archive has more than ${ENTRIES_MAX} entries`)
    const header = readHeader(block, sum)
    if (header === undefined) return err('The archive is not a tar archive')
    const start = at + BLOCK
    if (start + header.bytes > tar.length) return err('The archive ends in the middle')
    const body = tar.subarray(start, start + header.bytes)
    at = start + Math.ceil(header.bytes / BLOCK) * BLOCK
    if (header.type === 'L') longName = textOf(body)
    else if (header.type === 'x') longName = readPaxPath(body) ?? longName
    else {
      const path = normalizePath(longName ?? header.path)
      if (FILE_TYPES.has(header.type) && path !== undefined) files.set(path, body)
      // A header for all that follows does not use up the name of the next entry.
      if (header.type !== 'g') longName = undefined
    }
  }
  return files.size === 0 ? err('The archive is not a tar archive') : ok(files)
}

/** Regular files in the old and in the newer form. */
const FILE_TYPES: ReadonlySet<string> = new Set(['0', '\0'])

interface Header {
  readonly path: string
  readonly bytes: number
  readonly type: string
}

function sumOf(block: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < BLOCK; at++) sum += block[at] ?? 0
  return sum
}

const CHECKSUM_START = 148
const CHECKSUM_END = 156
const SPACE = 0x20

/** Undefined when the block is no header: its checksum counts its own field as spaces. */
function readHeader(block: Uint8Array, blockSum: number): Header | undefined {
  let sum = blockSum
  for (let at = CHECKSUM_START; at < CHECKSUM_END; at++) sum += SPACE - (block[at] ?? 0)
  const bytes = octal(block.subarray(124, 136))
  const written = octal(block.subarray(CHECKSUM_START, CHECKSUM_END))
  if (bytes === undefined || written !== sum) return undefined
  const name = textOf(block.subarray(0, 100))
  const isPosix = textOf(block.subarray(257, 263)) === 'ustar'
  const prefix = isPosix ? textOf(block.subarray(345, 500)) : ''
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    bytes,
    type: String.fromCharCode(block[156] ?? 0),
  }
}

/** Sizes beyond eight gigabytes are written in another way; an archive here has none. */
function octal(field: Uint8Array): number | undefined {
  const text = textOf(field).trim()
  return /^[0-7]{1,12}$/.test(text) ? Number.parseInt(text, 8) : undefined
}

/** Lines `<length> <key>=<value>\n`, where the length counts the whole line in bytes. */
function readPaxPath(body: Uint8Array): string | undefined {
  for (let at = 0; at < body.length;) {
    const blank = body.indexOf(SPACE, at)
    const length = blank < 0 ? NaN : Number(textOf(body.subarray(at, blank)))
    if (!Number.isInteger(length) || length <= blank - at) return undefined
    const line = textOf(body.subarray(blank + 1, at + length - 1))
    if (line.startsWith('path=')) return line.slice('path='.length)
    at += length
  }
  return undefined
}

/** A name that is no UTF-8 is no name of a policy: it is read byte by byte. */
function textOf(field: Uint8Array): string {
  const end = field.indexOf(0)
  const bytes = end < 0 ? field : field.subarray(0, end)
  return decodeUtf8(bytes) ?? String.fromCharCode(...bytes.subarray(0, BLOCK))
}

/**
 * A path without `.`, `..` and empty parts; undefined when it leads out of where it begins. Nothing
 * is written to a disk: the path is only a name here.
 */
export function normalizePath(path: string): string | undefined {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.length === 0 ? undefined : parts.join('/')
}
