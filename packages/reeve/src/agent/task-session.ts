import type { Readable, Writable } from 'node:stream'

/** A command to run in the environment of a task: its files, user and limits. */
export interface ExecRequest {
  /** Program and arguments; never empty. */
  readonly command: readonly string[]
  /** Initial size of the terminal; undefined: three plain streams. */
  readonly tty: TerminalSize | undefined
}

export interface TerminalSize {
  readonly rows: number
  readonly columns: number
}

/** A command running in a task. It ends when the task ends. */
export interface ExecSession {
  /**
   * Closing it closes the input of the command; on a terminal it sends the end-of-file character.
   */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Ends immediately with a terminal, which writes everything to `stdout`. */
  readonly stderr: Readable
  resize(size: TerminalSize): void
  /** Hangs up like a closed terminal window, because the caller has disconnected. */
  hangUp(): void
  /** Resolves once with the exit code, after all output can be read; 128 + n after signal n. */
  readonly exited: Promise<number>
}

/** Current resource usage of a task. Values that are not available are zero. */
export interface TaskUsage {
  readonly atMs: number
  readonly cpu: {
    /** CPU time in nanoseconds since the start. */
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
