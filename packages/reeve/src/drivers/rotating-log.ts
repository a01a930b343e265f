import { constants } from 'node:fs'
import { rm, type FileHandle, open, readdir } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { isMissing } from '../agent/index.ts'

interface RotatingLogOptions {
  readonly prefix: string
  readonly maxFiles: number
  readonly maxFileBytes: number
}

interface OpenLogFile {
  readonly handle: FileHandle
  readonly number: number
  size: number
}

/**
 * Raw bytes, each file cut at exactly the limit, the newest `maxFiles` kept, a new start goes on
 * where the last one ended. Output that cannot be written is dropped: a full disk must not hold a
 * task.
 */
export class RotatingLogWriter {
  readonly #options: RotatingLogOptions
  #file: OpenLogFile | undefined
  /** The end of the file that is no longer open. */
  #closedFileEnd = { number: 0, size: 0 }
  #lastOperation: Promise<void> = Promise.resolve()
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
    const { number, size } = this.#file ?? this.#closedFileEnd
    return number * this.#options.maxFileBytes + size
  }

  /** Finds the end of what an earlier start wrote, and gives its offset. */
  async open(): Promise<number> {
    await this.#serialize(async () => {
      this.#file ??= await this.#openNewest()
    })
    return this.offset
  }

  /** Resolves when the bytes are in a file, or were dropped; writes keep their order. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#serialize(() => this.#append(bytes))
  }

  /** Writes what is under way and ends; safe to repeat. */
  close(): Promise<void> {
    return this.#serialize(async () => {
      this.#isClosed = true
      await this.#detachFile()?.close()
    })
  }

  #serialize(work: () => Promise<void>): Promise<void> {
    const operation = this.#lastOperation.then(work)
    this.#lastOperation = operation.catch(() => undefined)
    return operation
  }

  async #append(bytes: Uint8Array): Promise<void> {
    let unwritten = bytes
    try {
      while (unwritten.length > 0 && !this.#isClosed) {
        const file = await this.#fileWithSpace()
        const availableBytes = this.#options.maxFileBytes - file.size
        const { bytesWritten } = await file.handle.write(unwritten.subarray(0, availableBytes))
        file.size += bytesWritten
        unwritten = unwritten.subarray(bytesWritten)
      }
    } catch {
      // ENOSPC, EDQUOT, a directory that was removed: told by `droppedBytes`.
      await this.#discardFile()
    }
    this.#droppedBytes += unwritten.length
  }

  async #discardFile(): Promise<void> {
    await this.#detachFile()
      ?.close()
      .catch(() => undefined)
  }

  #detachFile(): FileHandle | undefined {
    if (this.#file === undefined) return undefined
    const { handle, number, size } = this.#file
    this.#closedFileEnd = { number, size }
    this.#file = undefined
    return handle
  }

  /** A file with room for at least one byte. */
  async #fileWithSpace(): Promise<OpenLogFile> {
    this.#file ??= await this.#openNewest()
    if (this.#file.size < this.#options.maxFileBytes) return this.#file
    const { number } = this.#file
    await this.#detachFile()?.close()
    this.#file = await this.#open(number + 1)
    await this.#removeOldFiles(number + 1)
    return this.#file
  }

  async #openNewest(): Promise<OpenLogFile> {
    const numbers = await listLogNumbers(this.#options.prefix)
    return this.#open(numbers.at(-1) ?? 0)
  }

  async #open(number: number): Promise<OpenLogFile> {
    const handle = await openLogFile(this.#options.prefix, number)
    return { handle, number, size: (await handle.stat()).size }
  }

  async #removeOldFiles(newest: number): Promise<void> {
    const { prefix, maxFiles } = this.#options
    for (const number of await listLogNumbers(prefix)) {
      if (number <= newest - maxFiles) await rm(`${prefix}.${number}`, { force: true })
    }
  }
}

/** The numbers of the files `<prefix>.<n>` that exist, smallest first. */
export async function listLogNumbers(prefix: string): Promise<readonly number[]> {
  const filePrefix = `${basename(prefix)}.`
  const names = await readdir(dirname(prefix)).catch((thrown: unknown) => {
    if (isMissing(thrown)) return []
    throw thrown
  })
  return names
    .filter(
      (name) =>
        name.startsWith(filePrefix) && /^(0|[1-9]\d{0,8})$/.test(name.slice(filePrefix.length)),
    )
    .map((name) => Number(name.slice(filePrefix.length)))
    .toSorted((a, b) => a - b)
}

/** Opens one file of the sequence for appending. A link in its place is not followed. */
export async function openLogFile(prefix: string, number: number): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
  const file = await open(`${prefix}.${number}`, flags, 0o640)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new Error(`${prefix}.${number} is not a file`)
}
