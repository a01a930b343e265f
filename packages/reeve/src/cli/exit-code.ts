/** What a command tells the shell. Documented in docs/reference/cli/README.md. */
export const EXIT_CODES = {
  ok: 0,
  /** It was understood and did not succeed. */
  failed: 1,
  /** It was not understood: unknown command or flag, wrong or missing argument. */
  usage: 2,
  /** `job plan`: something would change. */
  changes: 3,
  /** The server was not reached. */
  unreachable: 4,
  /** The token is missing, unknown or lacks a capability. */
  denied: 5,
  /** What was named does not exist, or several things are meant by it. */
  missing: 6,
  /** Somebody else changed it meanwhile. */
  conflict: 7,
  /** A policy says no. */
  refusedByPolicy: 8,
  /** Instances of a job have no place. */
  unplaced: 9,
  /** Ctrl-C, as shells tell it. */
  interrupted: 130,
  /** Nobody reads the answer any more, as shells tell it. */
  unread: 141,
} as const
