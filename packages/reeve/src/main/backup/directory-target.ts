import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fsyncDirectory } from '../../storage/index.ts'
import { isBackupName, type BackupTarget } from './backup-target.ts'

/** Stores backups in a local or mounted directory. */
export class DirectoryTarget implements BackupTarget {
  readonly name: string
  readonly stagingDirectory: string

  constructor(directory: string) {
    this.name = directory
    this.stagingDirectory = directory
  }

  async list(): Promise<readonly string[]> {
    await mkdir(this.name, { recursive: true, mode: 0o700 })
    return (await readdir(this.name)).filter(isBackupName).toSorted()
  }

  async store(name: string, file: string): Promise<void> {
    await rename(file, join(this.name, name))
    await fsyncDirectory(this.name)
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.name, name), { force: true })
  }
}
