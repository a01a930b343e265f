import { lstat, opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { LISTED_FILES_MAX, type LogType, type StreamOrigin } from '@reeve/contract'
import { isMissing } from '../store/state-file.ts'
import { RemoteRefusal } from './remote-refusal.ts'
import { openBelow, type OpenedFile } from './safe-open.ts'

const LOG_DIRECTORY = 'alloc/logs'

/** A place in the row of files: the number of one, and a byte of it. */
export interface LogPlace {
  readonly number: number
  readonly offset: number
}

/**
 * The output of one task, as the row of files that it is rotated over: `<task>.<type>.<n>`, n
 * counting up. The oldest may vanish at any moment.
 */
export class LogFiles {
  readonly #root: string
  readonly #prefix: string

  constructor(root: string, task: string, type: LogType) {
    this.#root = root
    this.#prefix = `${task}.${type}.`
  }

  get directory(): string {
    return join(this.#root, LOG_DIRECTORY)
  }

  /** How callers name the file: below the directory of the allocation. */
  pathOf(number: number): string {
    return `${LOG_DIRECTORY}/${this.#prefix}${number}`
  }

  /** The files there are, oldest first. */
  async numbers(): Promise<readonly number[]> {
    const found: number[] = []
    const directory = await opendir(this.directory).catch(ignoreMissing)
    if (directory === undefined) return []
    let seen = 0
    for await (const { name } of directory) {
      // A task that may write here must not keep its node busy with counting.
      if ((seen += 1) > LISTED_FILES_MAX) break
      const number = name.startsWith(this.#prefix) ? name.slice(this.#prefix.length) : ''
      if (/^\d{1,15}$/.test(number)) found.push(Number(number))
    }
    return found.toSorted((a, b) => a - b)
  }

  /** Undefined when it was removed, or is not a file that may be read. */
  async open(number: number): Promise<OpenedFile | undefined> {
    try {
      return await openBelow(this.#root, this.pathOf(number))
    } catch (thrown) {
      if (thrown instanceof RemoteRefusal) return undefined
      throw thrown
    }
  }

  /** Where a reader begins that wants to be so far from the start or the end of it all. */
  async find(offset: number, origin: StreamOrigin): Promise<LogPlace | undefined> {
    const numbers = await this.numbers()
    const ordered = origin === 'start' ? numbers : numbers.toReversed()
    let left = offset
    let last: LogPlace | undefined
    for (const number of ordered) {
      const size = await this.#sizeOf(number)
      if (size === undefined) continue
      if (left <= size) return { number, offset: origin === 'start' ? left : size - left }
      left -= size
      last = { number, offset: origin === 'start' ? size : 0 }
    }
    return last
  }

  async #sizeOf(number: number): Promise<number | undefined> {
    const stats = await lstat(join(this.#root, this.pathOf(number))).catch(ignoreMissing)
    return stats?.isFile() === true ? stats.size : undefined
  }
}

function ignoreMissing(thrown: unknown): undefined {
  if (!isMissing(thrown)) throw thrown
}
