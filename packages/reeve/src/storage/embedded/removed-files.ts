import { link, lstat, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from './durable-file.ts'
import { codeOf } from './storage-faults.ts'

/**
 * How much of a file is given back at once. A disk that is told of freed space (a file system
 * mounted with `discard`) stops for as long as that takes: 30 ms for 48 MiB where it was measured,
 * and appends to the log wait behind it.
 */
const STEP_BYTES = 2 * 1024 * 1024

/** Files of the database that become large: tables and write-ahead logs. */
const LARGE_FILE = /^\d+\.(?:ldb|log)$/

/**
 * Folder of large files that are no longer needed. They are truncated step by step before they are
 * removed, because removing them at once can block the disk (decision 0003). LevelDB removes its
 * own files, so each gets a hard link here, which is the only name left once LevelDB removed it.
 */
export class RemovedFiles {
  readonly #folder: string
  readonly #database: string
  /** Names of files of the database that are in our folder too. */
  readonly #linked = new Set<string>()
  #work: Promise<void> = Promise.resolve()
  #looking: Promise<void> | undefined
  #closed = false

  constructor(folder: string, database: string) {
    this.#folder = folder
    this.#database = database
  }

  /** What an earlier process left goes at once: nobody waits for the disk yet. */
  async begin(): Promise<void> {
    await clearRemoved(this.#folder)
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
  }

  /** Resolves when the file is durably gone from its folder. */
  async take(path: string): Promise<void> {
    const taken = join(this.#folder, basename(path))
    await rename(path, taken)
    // A power cut must not bring it back under its name, and shorter.
    await syncFolder(this.#folder)
    await syncFolder(dirname(path))
    this.#later(() => this.#giveBack(taken))
  }

  /** Looks at what the database has made and removed. To be called now and then. */
  follow(): void {
    if (this.#looking !== undefined) return
    this.#looking = this.#look()
      .catch(() => undefined)
      .finally(() => {
        this.#looking = undefined
      })
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    await this.#looking
    await this.#work
  }

  /**
   * What is left goes at once: nobody waits any more. To be called while the database is open:
   * after that the folder may be another process's.
   */
  async close(): Promise<void> {
    this.#closed = true
    await this.idle()
    await rm(this.#folder, { recursive: true, force: true }).catch(() => undefined)
  }

  /** A failure costs nothing but space, until the next opening. */
  #later(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch(() => undefined)
  }

  async #look(): Promise<void> {
    const names = await readdir(this.#database)
    for (const name of names)
      if (LARGE_FILE.test(name) && !this.#linked.has(name)) await this.#link(name)
    const present = new Set(names)
    for (const name of this.#linked) {
      if (present.has(name)) continue
      this.#linked.delete(name)
      this.#later(() => this.#giveBack(join(this.#folder, name)))
    }
  }

  async #link(name: string): Promise<void> {
    try {
      await link(join(this.#database, name), join(this.#folder, name))
      this.#linked.add(name)
    } catch (thrown) {
      // Removed meanwhile, at once then.
      if (codeOf(thrown) !== 'ENOENT') throw thrown
    }
  }

  async #giveBack(path: string): Promise<void> {
    // A file with another name is somebody's: a snapshot's, or still the database's.
    if ((await lstat(path)).nlink === 1) await this.#shorten(path)
    await unlink(path)
  }

  async #shorten(path: string): Promise<void> {
    const handle = await open(path, 'r+')
    try {
      let { size } = await handle.stat()
      while (size > STEP_BYTES && !this.#closed) {
        size -= STEP_BYTES
        await handle.truncate(size)
      }
    } finally {
      await handle.close()
    }
  }
}

/** Gives back what a process left that was killed. The folder itself may be in use again. */
export async function clearRemoved(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(noNames))
    await rm(join(folder, name), { recursive: true, force: true })
}

function noNames(thrown: unknown): string[] {
  if (codeOf(thrown) === 'ENOENT') return []
  throw thrown
}
