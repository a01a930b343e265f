import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from './state-file.ts'

interface Measure {
  readonly bytes: number
  /** True when there was more to look at than one look may take. */
  readonly isPartial: boolean
}

/**
 * What a directory takes on its disk. Links are not followed, other file systems are not entered,
 * and what vanishes meanwhile is not missed. At most `entriesMax` entries are looked at.
 */
export async function measureDisk(root: string, entriesMax: number): Promise<Measure> {
  const top = await lstat(root).catch(() => undefined)
  if (top === undefined) return { bytes: 0, isPartial: false }
  const waiting = [root]
  let bytes = 0
  let left = entriesMax
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    try {
      for await (const entry of await opendir(path)) {
        left -= 1
        if (left < 0) return { bytes, isPartial: true }
        const stat = await lstat(join(path, entry.name))
        if (stat.dev !== top.dev) continue
        bytes += stat.blocks * 512
        if (stat.isDirectory()) waiting.push(join(path, entry.name))
      }
    } catch (thrown) {
      if (!GONE.has(errorCode(thrown) ?? '')) throw thrown
    }
  }
  return { bytes, isPartial: false }
}

const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES'])
