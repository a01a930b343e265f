import { rm, type FileHandle } from 'node:fs/promises'
import { logNumbers, openLogFile } from './log-sequence.ts'

interface RotatingLogOptions {
  readonly prefix: string
  readonly maxFiles: number
  readonly maxFileBytes: number
}

interface OpenFile {
  readonly handle: FileHandle
  readonly number: number
  size: number
}

/**
 * Raw bytes, each file cut at exactly the limit, the newest `maxFiles` kept, a new start goes on
 * where the last one ended. Output that cannot be written is dropped: a full disk must not hold a
 * task.
 */
export class RotatingLog {
  readonly #options: RotatingLogOptions
  #file: OpenFile | undefined
  /** The end of the file that is no longer open. */
  #last = { number: 0, size: 0 }
  #work: Promise<void> = Promise.resolve()
  #droppedBytes = 0
  #isClosed = false

  constructor(options: RotatingLogOptions) {
    this.#options = options
  }

  /** How much could not be written. */
  get droppedBytes(): number {
    return this.#droppedBytes
  }

  /**
   * Where the output ends: bytes since the first file of the sequence, those of files that are gone
   * included. Known once the log is open.
   */
  get offset(): number {
    const { number, size } = this.#file ?? this.#last
    return number * this.#options.maxFileBytes + size
  }

  /** Finds the end of what an earlier start wrote, and gives its offset. */
  async open(): Promise<number> {
    await this.#queue(async () => {
      this.#file ??= await this.#openNewest()
    })
    return this.offset
  }

  /** Resolves when the bytes are in a file, or were dropped; writes keep their order. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#queue(() => this.#append(bytes))
  }

  /** Writes what is under way and ends; safe to repeat. */
  close(): Promise<void> {
    return this.#queue(async () => {
      this.#isClosed = true
      await this.#release()?.close()
    })
  }

  #queue(work: () => Promise<void>): Promise<void> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => undefined)
    return done
  }

  async #append(bytes: Uint8Array): Promise<void> {
    let rest = bytes
    try {
      while (rest.length > 0 && !this.#isClosed) {
        const file = await this.#writable()
        const room = this.#options.maxFileBytes - file.size
        const { bytesWritten } = await file.handle.write(rest.subarray(0, room))
        file.size += bytesWritten
        rest = rest.subarray(bytesWritten)
      }
    } catch {
      // ENOSPC, EDQUOT, a directory that was removed: told by `droppedBytes`.
      await this.#abandon()
    }
    this.#droppedBytes += rest.length
  }

  async #abandon(): Promise<void> {
    await this.#release()
      ?.close()
      .catch(() => undefined)
  }

  #release(): FileHandle | undefined {
    if (this.#file === undefined) return undefined
    const { handle, number, size } = this.#file
    this.#last = { number, size }
    this.#file = undefined
    return handle
  }

  /** A file with room for at least one byte. */
  async #writable(): Promise<OpenFile> {
    this.#file ??= await this.#openNewest()
    if (this.#file.size < this.#options.maxFileBytes) return this.#file
    const { number } = this.#file
    await this.#release()?.close()
    this.#file = await this.#open(number + 1)
    await this.#prune(number + 1)
    return this.#file
  }

  async #openNewest(): Promise<OpenFile> {
    const numbers = await logNumbers(this.#options.prefix)
    return this.#open(numbers.at(-1) ?? 0)
  }

  async #open(number: number): Promise<OpenFile> {
    const handle = await openLogFile(this.#options.prefix, number)
    return { handle, number, size: (await handle.stat()).size }
  }

  async #prune(newest: number): Promise<void> {
    const { prefix, maxFiles } = this.#options
    for (const number of await logNumbers(prefix)) {
      if (number <= newest - maxFiles) await rm(`${prefix}.${number}`, { force: true })
    }
  }
}
