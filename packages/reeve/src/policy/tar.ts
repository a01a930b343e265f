import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  paddedToBlocks,
  readPaxRecords,
  readTarHeader,
  TAR_BLOCK_BYTES,
  decodeTarText,
} from '@reeve/kit/tar-header.ts'

/** Regular files by path, without a leading `./`. */
export type ArchiveFiles = ReadonlyMap<string, Uint8Array>

/** Maximum number of entries of any kind; empty entries cost time too. */
const ENTRIES_MAX = 10_000

/**
 * Reads the regular files of a tar archive, or returns why it is invalid. Links and devices are
 * omitted.
 */
export function readTar(tar: Uint8Array): Result<ArchiveFiles, string> {
  const files = new Map<string, Uint8Array>()
  let longName: string | undefined
  let offset = 0
  for (let entries = 0; offset + TAR_BLOCK_BYTES <= tar.length; entries++) {
    const block = tar.subarray(offset, offset + TAR_BLOCK_BYTES)
    if (block.every((byte) => byte === 0)) return ok(files)
    if (entries >= ENTRIES_MAX) return err(`The archive has more than ${ENTRIES_MAX} entries`)
    const header = readTarHeader(block)
    if (!header.ok) return NOT_TAR
    const { type, size } = header.value
    const start = offset + TAR_BLOCK_BYTES
    if (start + size > tar.length) return err('The archive ends in the middle')
    const body = tar.subarray(start, start + size)
    offset = start + paddedToBlocks(size)
    if (type === 'L') longName = decodeTarText(body)
    else if (type === 'x') {
      const records = readPaxRecords(body)
      if (!records.ok) return NOT_TAR
      longName = records.value.get('path') ?? longName
    } else {
      const path = normalizePath(longName ?? header.value.path)
      if (FILE_TYPES.has(type) && path !== undefined) files.set(path, body)
      // A global header does not consume the long name of the next entry.
      if (type !== 'g') longName = undefined
    }
  }
  return files.size === 0 ? NOT_TAR : ok(files)
}

const NOT_TAR = err('The archive is not a tar archive')

/** Types of regular files in the old and the new tar format. */
const FILE_TYPES: ReadonlySet<string> = new Set(['0', '\0'])

/**
 * Normalizes a path; undefined if it leaves its root. The path is only a key here and is never
 * opened.
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
