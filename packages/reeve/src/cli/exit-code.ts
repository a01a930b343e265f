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
