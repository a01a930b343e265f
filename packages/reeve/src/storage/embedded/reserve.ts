import { open, rm, stat } from 'node:fs/promises'
import { freeBytes, type DataPaths } from './data-directory.ts'

/**
 * Enough for the largest write-ahead log of the database, which a start writes anew, and for a
 * hundred thousand deletes.
 */
export const RESERVE_BYTES = 128 * 1024 * 1024
/** On a small disk the reserve is a tenth of what is free. */
const FREE_SHARE = 10
const STEP_BYTES = 4 * 1024 * 1024

/**
 * A file that holds nothing but space. When the disk is full it is removed, and a server can start
 * and accept deletes with what that frees.
 */
export class Reserve {
  readonly #paths: DataPaths
  readonly #bytesMax: number
  #filling: Promise<void> | undefined
  #isStopped = false

  /** `bytesMax` 0: none is kept. */
  constructor(paths: DataPaths, bytesMax: number) {
    this.#paths = paths
    this.#bytesMax = bytesMax
  }

  /** Creates the file, where it is not there, in the background: it takes a second or two. */
  fill(): void {
    if (this.#bytesMax === 0) return
    this.#isStopped = false
    // Without it a full disk is a read-only server; that is no reason to fail.
    this.#filling ??= this.#fill()
      .catch(() => this.#remove())
      .finally(() => {
        this.#filling = undefined
      })
  }

  /** Gives its space back to the disk. */
  async release(): Promise<void> {
    await this.stop()
    await this.#remove()
  }

  /** Ends the creation; what there is of the file stays. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#filling
  }

  async #fill(): Promise<void> {
    const known = await stat(this.#paths.reserve).catch(() => undefined)
    if (known !== undefined && known.size > 0) return
    const free = await freeBytes(this.#paths)
    const bytes = Math.min(this.#bytesMax, Math.floor(free / FREE_SHARE))
    const handle = await open(this.#paths.reserve, 'w', 0o600)
    try {
      // Written, because a file that is only made longer takes no space. Not all zeros, because
      // some file systems leave those out as well.
      const step = Buffer.alloc(STEP_BYTES, 'reserve ')
      for (let at = 0; at < bytes && !this.#isStopped; at += STEP_BYTES)
        await handle.write(step, 0, Math.min(STEP_BYTES, bytes - at), at)
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async #remove(): Promise<void> {
    await rm(this.#paths.reserve, { force: true }).catch(() => undefined)
  }
}
