export type FollowedLevel = 'debug' | 'info' | 'warn' | 'error'

/** The lines of a log that a reader asks for. */
export interface LogSelection {
  /** The lowest level that is included. */
  readonly level: FollowedLevel
  /** Lines as JSON in place of lines for people. */
  readonly json: boolean
}

/** The log of a running process, for readers that follow it. */
export interface LogFeed {
  /** Passes each new line, with its line feed, until the returned function is called. */
  follow(selection: LogSelection, line: (text: string) => void): () => void
  /** A line that reports how many lines a slow reader has missed. */
  droppedLine(count: number, selection: LogSelection): string
}

/**
 * Maximum number of buffered characters per reader, so that a slow reader cannot exhaust memory.
 */
export const LOG_BACKLOG_CHARS_MAX = 256 * 1024
/** Characters of one batch, and thereby of the longest line that is passed on. */
export const LOG_BATCH_CHARS_MAX = 64 * 1024

/**
 * Lines of a feed that wait for one reader, in order. Lines that do not fit are dropped, and their
 * number is reported as soon as the reader takes the lines before them.
 */
export class LogBacklog {
  readonly #feed: LogFeed
  readonly #selection: LogSelection
  readonly #stop: () => void
  #lines: string[] = []
  #chars = 0
  #dropped = 0
  #isClosed = false
  #wake: () => void = () => undefined

  constructor(feed: LogFeed, selection: LogSelection) {
    this.#feed = feed
    this.#selection = selection
    this.#stop = feed.follow(selection, (line) => this.#add(line))
  }

  /** The next lines as one text, once there are any; undefined after `close`. */
  async take(): Promise<string | undefined> {
    while (!this.#isClosed && this.#lines.length === 0 && this.#dropped === 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    return this.#isClosed ? undefined : this.#batch()
  }

  close(): void {
    this.#isClosed = true
    this.#stop()
    this.#wake()
  }

  #add(line: string): void {
    const isTooLong = line.length > LOG_BATCH_CHARS_MAX
    // After the first line that is dropped, so are the rest: the report marks one gap.
    if (isTooLong || this.#dropped > 0 || this.#chars + line.length > LOG_BACKLOG_CHARS_MAX) {
      this.#dropped += 1
    } else {
      this.#lines.push(line)
      this.#chars += line.length
    }
    this.#wake()
  }

  #batch(): string {
    let chars = 0
    let count = 0
    for (const { length } of this.#lines) {
      if (chars + length > LOG_BATCH_CHARS_MAX) break
      chars += length
      count += 1
    }
    const taken = this.#lines.splice(0, count)
    this.#chars -= chars
    if (taken.length > 0) return taken.join('')
    const dropped = this.#dropped
    this.#dropped = 0
    return this.#feed.droppedLine(dropped, this.#selection)
  }
}
