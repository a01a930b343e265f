import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../../storage/index.ts'
import type { BackupConfig } from '../config/agent-config.ts'
import { S3Target } from './s3-target.ts'

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

/** `dataFolder`: where a file may wait that goes elsewhere. */
export function openTarget(config: BackupConfig, dataFolder: string): BackupTarget | undefined {
  const { intervalMs, directory, s3 } = config
  if (intervalMs === undefined) return undefined
  if (directory !== undefined) return new DirectoryTarget(directory)
  const { address, region, accessKey, secretKey } = s3
  if (address === undefined || accessKey === undefined || secretKey === undefined) return undefined
  const keys = { accessKeyId: accessKey, secretAccessKey: secretKey.reveal() }
  return new S3Target({ address, region, ...keys, workFolder: dataFolder })
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

/** A directory of this machine, or one that is mounted. */
class DirectoryTarget implements BackupTarget {
  readonly name: string
  readonly workFolder: string

  constructor(directory: string) {
    this.name = directory
    this.workFolder = directory
  }

  async list(): Promise<readonly string[]> {
    await mkdir(this.name, { recursive: true, mode: 0o700 })
    return (await readdir(this.name)).filter(isBackupName).toSorted()
  }

  async store(name: string, file: string): Promise<void> {
    await rename(file, join(this.name, name))
    await syncFolder(this.name)
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.name, name), { force: true })
  }
}
