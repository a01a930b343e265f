import type { ToolProblem } from './problem.ts'

/** Result of one policy. */
export interface Answer {
  readonly policy: string
  readonly outcome: 'pass' | 'fail' | 'undefined' | 'error' | 'refused'
  /** Human-readable findings, line by line. */
  readonly lines: readonly string[]
  readonly problems: readonly ToolProblem[]
  readonly printed: string
  /** Machine-readable result. */
  readonly trace: object
}
