import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  paddedToBlocks,
  readPaxRecords,
  readTarHeader,
  TAR_BLOCK_BYTES,
  decodeTarText,
} from '@reeve/kit/tar-header.ts'

/** Regular files by their path, without `./` before it. */
export type ArchiveFiles = ReadonlyMap<string, Uint8Array>

/** Entries of any kind: each costs time even when it is empty. */
const ENTRIES_MAX = 10_000

/** The files of a tar archive; else why it is none. Links and devices are left out. */
export function readTar(tar: Uint8Array): Result<ArchiveFiles, string> {
  const files = new Map<string, Uint8Array>()
  let longName: string | undefined
  let at = 0
  for (let entries = 0; at + TAR_BLOCK_BYTES <= tar.length; entries++) {
    const block = tar.subarray(at, at + TAR_BLOCK_BYTES)
    if (block.every((byte) => byte === 0)) return ok(files)
    if (entries >= ENTRIES_MAX) return err(`The archive has more than ${ENTRIES_MAX} entries`)
    const header = readTarHeader(block)
    if (!header.ok) return NOT_TAR
    const { type, size } = header.value
    const start = at + TAR_BLOCK_BYTES
    if (start + size > tar.length) return err('The archive ends in the middle')
    const body = tar.subarray(start, start + size)
    at = start + paddedToBlocks(size)
    if (type === 'L') longName = decodeTarText(body)
    else if (type === 'x') {
      const records = readPaxRecords(body)
      if (!records.ok) return NOT_TAR
      longName = records.value.get('path') ?? longName
    } else {
      const path = normalizePath(longName ?? header.value.path)
      if (FILE_TYPES.has(type) && path !== undefined) files.set(path, body)
      // A header for all that follows does not use up the name of the next entry.
      if (type !== 'g') longName = undefined
    }
  }
  return files.size === 0 ? NOT_TAR : ok(files)
}

const NOT_TAR = err('The archive is not a tar archive')

/** Regular files in the old and in the newer form. */
const FILE_TYPES: ReadonlySet<string> = new Set(['0', '\0'])

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
