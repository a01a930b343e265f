import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'

/** Regular files by their path, without `./` before it. */
export type ArchiveFiles = ReadonlyMap<string, Uint8Array>

const BLOCK = 512
/** Entries of any kind: each costs time even when it is empty. */
const ENTRIES_MAX = 10_000

const inflate = promisify(gunzip)

/** The files of a gzipped tar archive; else why it is none. Links and devices are left out. */
export async function readArchive(bytes: Uint8Array): Promise<Result<ArchiveFiles, string>> {
  const bytesMax = v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX
  try {
    return readTar(await inflate(bytes, { maxOutputLength: bytesMax }))
  } catch (thrown) {
    const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
    if (code === 'ERR_BUFFER_TOO_LARGE')
      return err(`The archive unpacks to more than ${bytesMax} bytes`)
    if (typeof code === 'string' && code.startsWith('Z_')) return err('The archive is not gzipped')
    throw thrown
  }
}

function readTar(tar: Buffer): Result<ArchiveFiles, string> {
  const files = new Map<string, Uint8Array>()
  let longName: string | undefined
  let at = 0
  for (let entries = 0; at + BLOCK <= tar.length; entries++) {
    const block = tar.subarray(at, at + BLOCK)
    if (block.every((byte) => byte === 0)) return ok(files)
    if (entries >= ENTRIES_MAX) return err(`The archive has more than ${ENTRIES_MAX} entries`)
    const header = readHeader(block)
    if (header === undefined) return err('The archive is not a tar archive')
    const start = at + BLOCK
    if (start + header.bytes > tar.length) return err('The archive ends in the middle')
    const body = tar.subarray(start, start + header.bytes)
    at = start + Math.ceil(header.bytes / BLOCK) * BLOCK
    if (header.type === 'L') longName = textOf(body)
    else if (header.type === 'x') longName = paxPath(body) ?? longName
    else {
      const path = normalPath(longName ?? header.path)
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

/** Undefined when the block is no header. */
function readHeader(block: Buffer): Header | undefined {
  let sum = 0
  for (const [at, byte] of block.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte
  const bytes = octal(block.subarray(124, 136))
  if (bytes === undefined || octal(block.subarray(148, 156)) !== sum) return undefined
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
function octal(field: Buffer): number | undefined {
  const text = textOf(field).trim()
  return /^[0-7]{1,12}$/.test(text) ? Number.parseInt(text, 8) : undefined
}

/** Lines `<length> <key>=<value>\n`, where the length counts the whole line in bytes. */
function paxPath(body: Buffer): string | undefined {
  for (let at = 0; at < body.length;) {
    const blank = body.indexOf(0x20, at)
    const length = blank < 0 ? NaN : Number(body.toString('latin1', at, blank))
    if (!Number.isInteger(length) || length <= blank - at) return undefined
    const line = body.toString('utf8', blank + 1, at + length - 1)
    if (line.startsWith('path=')) return line.slice('path='.length)
    at += length
  }
  return undefined
}

function textOf(field: Buffer): string {
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? field.length : end)
}

/**
 * A path without `.`, `..` and empty parts; undefined when it leads out of where it begins. Nothing
 * is written to a disk: the path is only a name here.
 */
export function normalPath(path: string): string | undefined {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.length === 0 ? undefined : parts.join('/')
}
