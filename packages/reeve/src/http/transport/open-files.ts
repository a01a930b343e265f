import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import type { LimitUsage } from '@reeve/kit/tenant-slots.ts'

/** Returns the limit of open files of this process; infinite if the system does not report one. */
export function openFilesMax(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return Number.POSITIVE_INFINITY
    throw thrown
  }
}

/** Returns the limit with its usage; empty if the system does not report one. */
export async function openFilesUsage(): Promise<readonly LimitUsage[]> {
  const max = openFilesMax()
  if (max === Number.POSITIVE_INFINITY) return []
  return [{ name: 'open_files', max, used: await countOpenFiles(max), rejected: 0 }]
}

async function countOpenFiles(max: number): Promise<number> {
  try {
    return (await readdir('/proc/self/fd')).length
  } catch (thrown) {
    // Reading the directory needs a descriptor as well.
    if (isOutOfFiles(thrown)) return max
    throw thrown
  }
}

/** Reports whether the process, or the whole machine, has no file descriptor left. */
export function isOutOfFiles(thrown: unknown): boolean {
  const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
  return code === 'EMFILE' || code === 'ENFILE'
}
