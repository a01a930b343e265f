import type { ByteSink } from './byte-sink.ts'
import { ChangeWatch } from './change-watch.ts'
import { copyFile, type FollowOptions } from './follow-file.ts'
import type { LogFiles, LogPlace } from './log-files.ts'
import type { OpenedFile } from './safe-open.ts'

interface LogOptions extends FollowOptions {
  /** Where an earlier stream broke off; goes before offset and origin. */
  readonly resume?: { readonly file: number; readonly offset: number } | undefined
  /** Whether the task will write no more. */
  isOver(): boolean
}

/**
 * Sends the output of a task as one stream over all its files. A writer never returns to a file
 * once there is a later one, so whether there is one is looked up before the file is read to its
 * end: nothing that is written in between is missed.
 */
export async function followLog(log: LogFiles, options: LogOptions): Promise<void> {
  const watch = options.follow ? new ChangeWatch(log.directory, options.clock) : undefined
  const reader = new LogReader(log, options)
  try {
    await reader.seek()
    for (;;) {
      // Before reading: what was written before the end is read after it is known.
      const isLast = watch === undefined || options.isOver()
      await reader.readAll()
      if (isLast || options.signal.aborted) return
      if (!(await watch.changed(options.signal))) await options.sink.idle()
    }
  } finally {
    watch?.close()
    await reader.close()
  }
}

class LogReader {
  readonly #log: LogFiles
  readonly #options: LogOptions
  readonly #sink: ByteSink
  #at: LogPlace | undefined
  #file: OpenedFile | undefined

  constructor(log: LogFiles, options: LogOptions) {
    this.#log = log
    this.#options = options
    this.#sink = options.sink
  }

  async seek(): Promise<void> {
    const { resume, offset, origin } = this.#options
    this.#at =
      resume === undefined
        ? await this.#log.find(offset, origin)
        : { number: resume.file, offset: resume.offset }
  }

  /** Reads to the end of the last file that there is. */
  async readAll(): Promise<void> {
    while (!this.#options.signal.aborted) {
      const later = await this.#laterThan(this.#at?.number ?? -1)
      if (this.#at === undefined) {
        if (later === undefined) return
        this.#at = { number: later, offset: 0 }
        continue
      }
      this.#file ??= await this.#log.open(this.#at.number)
      if (this.#file !== undefined) this.#at = await this.#read(this.#file, this.#at)
      // Removed before it was opened, or read to its end.
      if (later === undefined) return
      await this.close()
      this.#at = { number: later, offset: 0 }
    }
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.handle.close()
  }

  async #laterThan(number: number): Promise<number | undefined> {
    const numbers = await this.#log.numbers()
    return numbers.find((one) => one > number)
  }

  async #read({ handle }: OpenedFile, { number, offset }: LogPlace): Promise<LogPlace> {
    const { signal } = this.#options
    const file = this.#log.pathOf(number)
    let from = offset
    if ((await handle.stat()).size < offset) {
      await this.#sink.event('file truncated', { file, offset })
      from = 0
    }
    const copied = { offset: from, limit: undefined, sink: this.#sink, file, signal }
    return { number, offset: await copyFile(handle, copied) }
  }
}
