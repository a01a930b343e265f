import { lstat, opendir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Logger } from '../log.ts'
import { sleep } from '../timing.ts'
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

export interface DiskUsagePercent {
  readonly diskPercent: number
  readonly inodePercent: number
}

/** Disk and inode usage of a directory's file system; zero if the directory does not exist. */
export async function diskUsagePercent(path: string): Promise<DiskUsagePercent> {
  const stat = await statfs(path).catch(() => undefined)
  if (stat === undefined) return { diskPercent: 0, inodePercent: 0 }
  return {
    diskPercent: percentOf(stat.blocks - stat.bavail, stat.blocks),
    inodePercent: percentOf(stat.files - stat.ffree, stat.files),
  }
}

function percentOf(part: number, whole: number): number {
  return whole > 0 ? (100 * part) / whole : 0
}

interface DiskWatchOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly limitMB: number
  /** Size of the allocation on disk in bytes. */
  measure(): Promise<number>
  /** Called when the usage has just exceeded the limit. */
  onExceeded(usedMB: number): void
  readonly signal: AbortSignal
}

/**
 * Reports when an allocation exceeds its disk size, once each time. The size is reserved, not
 * enforced.
 */
export async function watchDisk(options: DiskWatchOptions): Promise<void> {
  const { clock, log, limitMB, signal } = options
  if (limitMB <= 0) return
  let wasExceeded = false
  while (await sleep(clock, AGENT_LIMITS.diskCheckIntervalMs, signal)) {
    try {
      const usedMB = Math.ceil((await options.measure()) / (1024 * 1024))
      if (usedMB > limitMB && !wasExceeded && !signal.aborted) options.onExceeded(usedMB)
      wasExceeded = usedMB > limitMB
    } catch (thrown) {
      log.warn({ error: errorMessage(thrown) }, 'disk of an allocation not measured')
    }
  }
}
