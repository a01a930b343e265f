/** Storage for backups. */
export interface BackupTarget {
  /** Name for messages: the directory, or the URL without keys. */
  readonly name: string
  /** Directory for unfinished backup files. */
  readonly stagingDirectory: string
  /** Names of the stored backups, oldest first. */
  list(): Promise<readonly string[]>
  /** Stores a verified file of the staging directory atomically. */
  store(name: string, file: string): Promise<void>
  remove(name: string): Promise<void>
}

const BACKUP_NAME = /^reeve-\d{8}T\d{6}Z-\d+\.snapshot$/

/**
 * Returns a name that sorts by time and ends with the index:
 * `reeve-20261118T101500Z-4711.snapshot`.
 */
export function backupName(timeMs: number, index: number): string {
  const time = new Date(timeMs).toISOString().replace(/[-:]/g, '').replace(/\.\d+/, '')
  return `reeve-${time}-${index}.snapshot`
}

export function isBackupName(name: string): boolean {
  return BACKUP_NAME.test(name)
}

/** Returns the creation time in the name of a backup. */
export function backupTimeMs(name: string): number {
  const [, date = '', time = ''] = /^reeve-(\d{8})T(\d{6})Z-/.exec(name) ?? []
  const day = `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6)}`
  return Date.parse(`${day}T${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4)}Z`)
}
