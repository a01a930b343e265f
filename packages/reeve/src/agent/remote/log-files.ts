import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { LISTED_FILES_MAX, type LogType, type StreamOrigin } from '@reeve/contract'
import { isMissing } from '../store/state-file.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import { openContained, type OpenedFile } from './safe-open.ts'

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
