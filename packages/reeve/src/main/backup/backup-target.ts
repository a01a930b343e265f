/** Where backups are kept. */
export interface BackupTarget {
  /** For people: the directory, or the address without keys. */
  readonly name: string
  /** A directory for a file that is not a backup yet. */
  readonly workFolder: string
  /** Names of the backups that are there, ascending, and so the oldest first. */
  list(): Promise<readonly string[]>
  /** Takes a verified file of the work folder over, all of it or nothing. */
  store(name: string, file: string): Promise<void>
  remove(name: string): Promise<void>
}

const NAME = /^reeve-\d{8}T\d{6}Z-\d+\.snapshot$/

/** Sorts by time: `reeve-20261118T101500Z-4711.snapshot`, with the index at its end. */
export function backupName(timeMs: number, index: number): string {
  const time = new Date(timeMs).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '')
  return `reeve-${time}-${index}.snapshot`
}

export function isBackupName(name: string): boolean {
  return NAME.test(name)
}

/** When a backup was made. */
export function timeMsOf(name: string): number {
  const [, date = '', time = ''] = /^reeve-(\d{8})T(\d{6})Z-/.exec(name) ?? []
  const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`
  return Date.parse(`${day}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`)
}
