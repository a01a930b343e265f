import { open, rm, stat } from 'node:fs/promises'
import { freeBytes, type DataPaths } from './data-directory.ts'

/**
 * Enough for the largest write-ahead log, which a start rewrites, and for a hundred thousand
 * deletes.
 */
export const RESERVE_BYTES = 128 * 1024 * 1024
/** On small disks the reserve is this fraction of the free space. */
const FREE_SPACE_DIVISOR = 10
const WRITE_STEP_BYTES = 4 * 1024 * 1024

/**
 * A file that reserves disk space. It is removed when the disk is full, so that a server can start
 * and accept deletes.
 */
export class DiskReserve {
  readonly #paths: DataPaths
  readonly #bytesMax: number
  #filling: Promise<void> | undefined
  #isStopped = false

  /** `bytesMax` 0 disables the reserve. */
  constructor(paths: DataPaths, bytesMax: number) {
    this.#paths = paths
    this.#bytesMax = bytesMax
  }

  /** Creates the file in the background if it does not exist, which takes a second or two. */
  fill(): void {
    if (this.#bytesMax === 0) return
    this.#isStopped = false
    // Without the reserve a full disk only makes the server read-only, so failures are ignored.
    this.#filling ??= this.#fill()
      .catch(() => this.#remove())
      .finally(() => {
        this.#filling = undefined
      })
  }

  /** Releases the space. */
  async release(): Promise<void> {
    await this.stop()
    await this.#remove()
  }

  /** Stops the creation; a partial file remains. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#filling
  }

  async #fill(): Promise<void> {
    const existing = await stat(this.#paths.reserve).catch(() => undefined)
    if (existing !== undefined && existing.size > 0) return
    const free = await freeBytes(this.#paths)
    const bytes = Math.min(this.#bytesMax, Math.floor(free / FREE_SPACE_DIVISOR))
    const handle = await open(this.#paths.reserve, 'w', 0o600)
    try {
      // Write real data, because truncating a file to a larger size allocates no space, and some
      // file systems do not store zeros.
      const step = Buffer.alloc(WRITE_STEP_BYTES, 'reserve ')
      for (let at = 0; at < bytes && !this.#isStopped; at += WRITE_STEP_BYTES)
        await handle.write(step, 0, Math.min(WRITE_STEP_BYTES, bytes - at), at)
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async #remove(): Promise<void> {
    await rm(this.#paths.reserve, { force: true }).catch(() => undefined)
  }
}
