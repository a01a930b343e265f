import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from './state-file.ts'

interface DirectorySize {
  readonly bytes: number
  /** The limit of entries was reached before all were measured. */
  readonly isPartial: boolean
}

/**
 * Disk usage of a directory. Links are not followed, other file systems are skipped, and entries
 * that disappear meanwhile are ignored. Reads at most `entriesMax` entries.
 */
export async function directorySize(root: string, entriesMax: number): Promise<DirectorySize> {
  const rootStats = await lstat(root).catch(() => undefined)
  if (rootStats === undefined) return { bytes: 0, isPartial: false }
  const pendingDirectories = [root]
  let bytes = 0
  let remainingEntries = entriesMax
  for (let path = pendingDirectories.pop(); path !== undefined; path = pendingDirectories.pop()) {
    try {
      for await (const entry of await opendir(path)) {
        remainingEntries -= 1
        if (remainingEntries < 0) return { bytes, isPartial: true }
        const stat = await lstat(join(path, entry.name))
        if (stat.dev !== rootStats.dev) continue
        bytes += stat.blocks * 512
        if (stat.isDirectory()) pendingDirectories.push(join(path, entry.name))
      }
    } catch (thrown) {
      if (!SKIPPED_ERROR_CODES.has(errorCode(thrown) ?? '')) throw thrown
    }
  }
  return { bytes, isPartial: false }
}

const SKIPPED_ERROR_CODES: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES'])
