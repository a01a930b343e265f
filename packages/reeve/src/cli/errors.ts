/** The command line is invalid. The message says what is expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

interface CommandErrorOptions {
  /** `failed` unless given. */
  readonly code?: number
  /** What to do next; may have several lines. */
  readonly hint?: string
}

/** The command failed. The message is a sentence for the user. */
export class CommandError extends Error {
  override readonly name = 'CommandFailure'
  readonly code: number
  readonly hint: string | undefined

  constructor(message: string, options: CommandErrorOptions = {}) {
    super(message)
    this.code = options.code ?? EXIT_CODES.failed
    this.hint = options.hint
  }
}

/** Exit codes of commands. Documented in docs/reference/cli/README.md. */
export const EXIT_CODES = {
  ok: 0,
  /** The command failed. */
  failed: 1,
  /** Usage error: unknown command or flag, invalid or missing argument. */
  usage: 2,
  /** `job plan`: something would change. */
  changes: 3,
  /** The server is unreachable. */
  unreachable: 4,
  /** The token is missing, unknown or lacks a capability. */
  denied: 5,
  /** The object does not exist, or the name is ambiguous. */
  missing: 6,
  /** The object was modified in the meantime. */
  conflict: 7,
  /** A policy denied the request. */
  refusedByPolicy: 8,
  /** Allocations could not be placed. */
  unplaced: 9,
  /** Interrupted by Ctrl-C (128 + SIGINT). */
  interrupted: 130,
  /** The reader of the output has closed it (128 + SIGPIPE). */
  unread: 141,
} as const

/**
 * Returns the text of a system error such as `ENOENT: no such file or directory, open '…'`, without
 * its code and path.
 */
export function systemErrorReason(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return message.replace(/^[A-Z]+: /, '').replace(/, \w+( '.*')?$/, '')
}
