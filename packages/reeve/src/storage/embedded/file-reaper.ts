import { link, lstat, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fsyncDirectory } from '../durable-file.ts'
import { errorCode } from './storage-faults.ts'

/**
 * Bytes truncated per step. On a file system mounted with `discard`, freeing space blocks the disk:
 * 30 ms for 48 MiB when measured, and log appends wait for that.
 */
const TRUNCATE_STEP_BYTES = 2 * 1024 * 1024

/** Files of the database that become large: tables and write-ahead logs. */
const LARGE_FILE_NAME = /^\d+\.(?:ldb|log)$/

/**
 * Folder of large files that are no longer needed. They are truncated step by step before they are
 * removed, because removing them at once can block the disk (decision 0003). LevelDB removes its
 * own files, so each gets a hard link here, which is the only name left once LevelDB removed it.
 */
export class FileReaper {
  readonly #directory: string
  readonly #databaseDirectory: string
  /** Names of database files that have a hard link here. */
  readonly #linked = new Set<string>()
  #queue: Promise<void> = Promise.resolve()
  #scanning: Promise<void> | undefined
  #closed = false

  constructor(folder: string, database: string) {
    this.#directory = folder
    this.#databaseDirectory = database
  }

  /** Removes files of an earlier process at once, because nothing waits for the disk yet. */
  async start(): Promise<void> {
    await clearRetired(this.#directory)
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
  }

  /** Resolves when the file is durably removed from its directory. */
  async retire(path: string): Promise<void> {
    const retiredPath = join(this.#directory, basename(path))
    await rename(path, retiredPath)
    // A power cut must not restore it under its old name, truncated.
    await fsyncDirectory(this.#directory)
    await fsyncDirectory(dirname(path))
    this.#enqueue(() => this.#shrinkAndUnlink(retiredPath))
  }

  /** Scans for files that the database created and removed. Call it from time to time. */
  scan(): void {
    if (this.#scanning !== undefined) return
    this.#scanning = this.#scanDatabase()
      .catch(() => undefined)
      .finally(() => {
        this.#scanning = undefined
      })
  }

  /** Resolves when nothing is left to do. */
  async whenIdle(): Promise<void> {
    await this.#scanning
    await this.#queue
  }

  /**
   * Removes the remaining files at once. Must be called while the database is open, because
   * afterwards the directory may belong to another process.
   */
  async close(): Promise<void> {
    this.#closed = true
    await this.whenIdle()
    await rm(this.#directory, { recursive: true, force: true }).catch(() => undefined)
  }

  /** A failure only costs space until the next start. */
  #enqueue(work: () => Promise<void>): void {
    this.#queue = this.#queue.then(work).catch(() => undefined)
  }

  async #scanDatabase(): Promise<void> {
    const names = await readdir(this.#databaseDirectory)
    for (const name of names)
      if (LARGE_FILE_NAME.test(name) && !this.#linked.has(name)) await this.#link(name)
    const present = new Set(names)
    for (const name of this.#linked) {
      if (present.has(name)) continue
      this.#linked.delete(name)
      this.#enqueue(() => this.#shrinkAndUnlink(join(this.#directory, name)))
    }
  }

  async #link(name: string): Promise<void> {
    try {
      await link(join(this.#databaseDirectory, name), join(this.#directory, name))
      this.#linked.add(name)
    } catch (thrown) {
      // Already removed by the database.
      if (errorCode(thrown) !== 'ENOENT') throw thrown
    }
  }

  async #shrinkAndUnlink(path: string): Promise<void> {
    // A file with further hard links is still in use, by a snapshot or by the database.
    if ((await lstat(path)).nlink === 1) await this.#truncateInSteps(path)
    await unlink(path)
  }

  async #truncateInSteps(path: string): Promise<void> {
    const handle = await open(path, 'r+')
    try {
      let { size } = await handle.stat()
      while (size > TRUNCATE_STEP_BYTES && !this.#closed) {
        size -= TRUNCATE_STEP_BYTES
        await handle.truncate(size)
      }
    } finally {
      await handle.close()
    }
  }
}

/** Removes files left by a killed process. The directory itself may already be in use again. */
export async function clearRetired(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(emptyIfMissing))
    await rm(join(folder, name), { recursive: true, force: true })
}

function emptyIfMissing(thrown: unknown): string[] {
  if (errorCode(thrown) === 'ENOENT') return []
  throw thrown
}
