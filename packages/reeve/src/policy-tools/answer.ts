import type { ToolDiagnostic } from './problem.ts'

/** Result of one policy. */
export interface EvaluationReport {
  readonly policy: string
  readonly outcome: 'pass' | 'fail' | 'undefined' | 'error' | 'refused'
  /** Human-readable findings, line by line. */
  readonly lines: readonly string[]
  readonly problems: readonly ToolDiagnostic[]
  readonly printed: string
  /** Machine-readable result. */
  readonly trace: object
}
