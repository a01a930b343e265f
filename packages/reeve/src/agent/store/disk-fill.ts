import { statfs } from 'node:fs/promises'

export interface DiskFill {
  readonly diskPercent: number
  readonly inodePercent: number
}

/** How full the file system of a directory is; nothing is full where there is none. */
export async function diskFill(path: string): Promise<DiskFill> {
  const stat = await statfs(path).catch(() => undefined)
  if (stat === undefined) return { diskPercent: 0, inodePercent: 0 }
  return {
    diskPercent: percent(stat.blocks - stat.bavail, stat.blocks),
    inodePercent: percent(stat.files - stat.ffree, stat.files),
  }
}

function percent(part: number, whole: number): number {
  return whole > 0 ? (100 * part) / whole : 0
}
