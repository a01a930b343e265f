import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { LISTED_FILES_MAX, type LogType, type StreamOrigin } from '@reeve/contract'
import { isMissing } from '../store/state-file.ts'
import { FileChangeWatcher, type FileSink, type FollowOptions, sendFile } from './follow-file.ts'
import { openContained, type OpenedFile } from './files.ts'
import { RemoteRefusal } from './remote-refusal.ts'

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

const LOG_DIRECTORY = 'alloc/logs'

/** Position in a sequence of log files: the number of a file and an offset in it. */
export interface LogOffset {
  readonly number: number
  readonly offset: number
}

/**
 * Rotated output of one task: `<task>.<type>.<n>` with increasing n. The oldest file may disappear
 * at any time.
 */
export class RotatedLog {
  readonly #root: string
  readonly #prefix: string

  constructor(root: string, task: string, type: LogType) {
    this.#root = root
    this.#prefix = `${task}.${type}.`
  }

  get directory(): string {
    return join(this.#root, LOG_DIRECTORY)
  }

  /** Path of a file below the allocation directory, as callers name it. */
  pathOf(number: number): string {
    return `${LOG_DIRECTORY}/${this.#prefix}${number}`
  }

  /** Numbers of the existing files, oldest first. */
  async fileNumbers(): Promise<readonly number[]> {
    const found: number[] = []
    const directory = await opendir(this.directory).catch(undefinedIfMissing)
    if (directory === undefined) return []
    let count = 0
    for await (const { name } of directory) {
      // A task that can write here must not be able to keep the agent busy.
      if ((count += 1) > LISTED_FILES_MAX) break
      const number = name.startsWith(this.#prefix) ? name.slice(this.#prefix.length) : ''
      if (/^\d{1,15}$/.test(number)) found.push(Number(number))
    }
    return found.toSorted((a, b) => a - b)
  }

  /** Undefined if the file was removed or must not be read. */
  async open(number: number): Promise<OpenedFile | undefined> {
    try {
      return await openContained(this.#root, this.pathOf(number))
    } catch (thrown) {
      if (thrown instanceof RemoteRefusal) return undefined
      throw thrown
    }
  }

  /** Position at an offset from the start or the end of the whole log. */
  async seek(offset: number, origin: StreamOrigin): Promise<LogOffset | undefined> {
    const numbers = await this.fileNumbers()
    const ordered = origin === 'start' ? numbers : numbers.toReversed()
    let remaining = offset
    let last: LogOffset | undefined
    for (const number of ordered) {
      const size = await this.#sizeOf(number)
      if (size === undefined) continue
      if (remaining <= size)
        return { number, offset: origin === 'start' ? remaining : size - remaining }
      remaining -= size
      last = { number, offset: origin === 'start' ? size : 0 }
    }
    return last
  }

  async #sizeOf(number: number): Promise<number | undefined> {
    const stats = await lstat(join(this.#root, this.pathOf(number))).catch(undefinedIfMissing)
    return stats?.isFile() === true ? stats.size : undefined
  }
}

function undefinedIfMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown
}
