import type { Readable, Writable } from 'node:stream'

/** A command to be run beside a task, in its world: its files, its user, its limits. */
export interface ExecRequest {
  /** The program and its arguments; never empty. */
  readonly command: readonly string[]
  /** A terminal of its own, with the size it begins with; undefined: three plain streams. */
  readonly tty: TerminalSize | undefined
}

export interface TerminalSize {
  readonly rows: number
  readonly columns: number
}

/** A command that runs inside a task. Ends when the task ends. */
export interface ExecSession {
  /** Closing it is the end of the input; on a terminal it sends the end-of-file character. */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Ends at once when there is a terminal: everything is on `stdout` then. */
  readonly stderr: Readable
  resize(size: TerminalSize): void
  /** The caller has gone: hang up, as a closed terminal window does. */
  hangUp(): void
  /**
   * Settles once, after the last byte of both streams can be read: 128 + n when signal n ended it.
   */
  readonly exited: Promise<number>
}

/** What a task uses right now. Zero where the machine does not tell. */
export interface TaskUsage {
  readonly atMs: number
  readonly cpu: {
    /** Nanoseconds of processor time since the start. */
    readonly totalNs: number
    readonly userNs: number
    readonly systemNs: number
    readonly throttledPeriods: number
    readonly throttledNs: number
  }
  readonly memory: {
    readonly rssBytes: number
    readonly cacheBytes: number
    readonly swapBytes: number
    readonly usageBytes: number
    readonly maxUsageBytes: number
  }
  readonly pids: number
}
