/** Output of a command: requested output goes to `out`, everything else to `err`. */
export interface ToolTerminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Exit codes of the tools. */
export const POLICY_EXIT_CODES = {
  pass: 0,
  fail: 1,
  /** The result of the policy is undefined. */
  undefined: 2,
  /** The policy failed with an error. */
  error: 3,
  /** The policy could not be read or compiled. */
  refused: 9,
} as const

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
