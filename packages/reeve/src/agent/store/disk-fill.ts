import { statfs } from 'node:fs/promises'

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
