import type { FileSink } from './byte-sink.ts'
import { FileChangeWatcher } from './change-watch.ts'
import { sendFile, type FollowOptions } from './follow-file.ts'
import type { RotatedLog, LogOffset } from './log-files.ts'
import type { OpenedFile } from './safe-open.ts'

interface FollowLogOptions extends FollowOptions {
  /** Position at which an earlier stream broke off; overrides offset and origin. */
  readonly resume?: { readonly file: number; readonly offset: number } | undefined
  /** Whether the task writes no more output. */
  hasTaskEnded(): boolean
}

/**
 * Sends the output of a task as one stream over all its files. A writer never returns to a file
 * after it has created the next one, so the next file is looked up before a file is read to its
 * end: nothing written in between is missed.
 */
export async function followLog(log: RotatedLog, options: FollowLogOptions): Promise<void> {
  const watch = options.follow ? new FileChangeWatcher(log.directory, options.clock) : undefined
  const reader = new LogReader(log, options)
  try {
    await reader.seek()
    for (;;) {
      // Checked before reading, so that output written before the end is still sent.
      const isLast = watch === undefined || options.hasTaskEnded()
      await reader.readAll()
      if (isLast || options.signal.aborted) return
      if (!(await watch.waitForChange(options.signal))) await options.sink.sendHeartbeat()
    }
  } finally {
    watch?.close()
    await reader.close()
  }
}

class LogReader {
  readonly #log: RotatedLog
  readonly #options: FollowLogOptions
  readonly #sink: FileSink
  #position: LogOffset | undefined
  #file: OpenedFile | undefined

  constructor(log: RotatedLog, options: FollowLogOptions) {
    this.#log = log
    this.#options = options
    this.#sink = options.sink
  }

  async seek(): Promise<void> {
    const { resume, offset, origin } = this.#options
    this.#position =
      resume === undefined
        ? await this.#log.seek(offset, origin)
        : { number: resume.file, offset: resume.offset }
  }

  /** Reads to the end of the newest file. */
  async readAll(): Promise<void> {
    while (!this.#options.signal.aborted) {
      const nextNumber = await this.#nextNumberAfter(this.#position?.number ?? -1)
      if (this.#position === undefined) {
        if (nextNumber === undefined) return
        this.#position = { number: nextNumber, offset: 0 }
        continue
      }
      this.#file ??= await this.#log.open(this.#position.number)
      if (this.#file !== undefined) this.#position = await this.#read(this.#file, this.#position)
      // The file was removed before it was opened, or read to its end.
      if (nextNumber === undefined) return
      await this.close()
      this.#position = { number: nextNumber, offset: 0 }
    }
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.handle.close()
  }

  async #nextNumberAfter(number: number): Promise<number | undefined> {
    const numbers = await this.#log.fileNumbers()
    return numbers.find((candidate) => candidate > number)
  }

  async #read({ handle }: OpenedFile, { number, offset }: LogOffset): Promise<LogOffset> {
    const { signal } = this.#options
    const file = this.#log.pathOf(number)
    let readFrom = offset
    if ((await handle.stat()).size < offset) {
      await this.#sink.sendEvent('file truncated', { file, offset })
      readFrom = 0
    }
    const copied = { offset: readFrom, limit: undefined, sink: this.#sink, file, signal }
    return { number, offset: await sendFile(handle, copied) }
  }
}
