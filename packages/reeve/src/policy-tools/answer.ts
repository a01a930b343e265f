import type { ToolProblem } from './problem.ts'

/** What came of one policy. */
export interface Answer {
  readonly policy: string
  readonly outcome: 'pass' | 'fail' | 'undefined' | 'error' | 'refused'
  /** For people: what was found, line by line. */
  readonly lines: readonly string[]
  readonly problems: readonly ToolProblem[]
  readonly printed: string
  /** For machines. */
  readonly trace: object
}
