/** What a command tells the shell. Documented in docs/cli.md. */
export const EXIT_CODES = {
  ok: 0,
  /** It was understood and did not succeed. */
  failed: 1,
  /** It was not understood: unknown command or flag, wrong or missing argument. */
  usage: 2,
} as const
