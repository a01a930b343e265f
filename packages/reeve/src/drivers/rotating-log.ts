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
 * Writes raw bytes to files of exactly the maximum size and keeps the newest `maxFiles`. A new
 * start continues at the end of the previous one. Output that cannot be written is dropped, so that
 * a full disk does not block a task.
 */
export class RotatingLogWriter {
  readonly #options: RotatingLogOptions
  #file: OpenLogFile | undefined
  /** End of the previous file. */
  #closedFileEnd = { number: 0, size: 0 }
  #lastOperation: Promise<void> = Promise.resolve()
  #droppedBytes = 0
  #isClosed = false

  constructor(options: RotatingLogOptions) {
    this.#options = options
  }

  /** Number of dropped bytes. */
  get droppedBytes(): number {
    return this.#droppedBytes
  }

  /**
   * End of the output: bytes since the first file, including removed files. Known once the log is
   * open.
   */
  get offset(): number {
    const { number, size } = this.#file ?? this.#closedFileEnd
    return number * this.#options.maxFileBytes + size
  }

  /** Finds the end of the existing files and returns its offset. */
  async open(): Promise<number> {
    await this.#serialize(async () => {
      this.#file ??= await this.#openNewest()
    })
    return this.offset
  }

  /** Resolves when the bytes are written or dropped; writes keep their order. */
  write(bytes: Uint8Array): Promise<void> {
    return this.#serialize(() => this.#append(bytes))
  }

  /** Completes pending writes and closes the log. Idempotent. */
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
      // ENOSPC, EDQUOT or a removed directory: counted in `droppedBytes`.
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

  /** Returns a file that is not full. */
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

/** Returns the numbers of the existing files `<prefix>.<n>`, sorted. */
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

/** Opens a file of the sequence for appending, without following links. */
export async function openLogFile(prefix: string, number: number): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK
  const file = await open(`${prefix}.${number}`, flags, 0o640)
  if ((await file.stat()).isFile()) return file
  await file.close()
  throw new Error(`${prefix}.${number} is not a file`)
}
