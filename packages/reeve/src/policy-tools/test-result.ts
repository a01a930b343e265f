import type { ToolDiagnostic } from './problem.ts'

/** Result of one test. */
export interface TestResult {
  /** The policy or package that is tested. */
  readonly policy: string
  readonly name: string
  readonly status: 'passed' | 'failed' | 'errored' | 'skipped'
  /** Reasons why it did not pass. */
  readonly reasons: readonly string[]
  readonly problems: readonly ToolDiagnostic[]
  readonly printed: string
  /** Only for a test with several cases. */
  readonly cases?: readonly TestCase[]
}

/** One case: an entry of the object that a test returns. */
export interface TestCase {
  readonly name: string
  readonly passed: boolean
}

/** Reports whether a test is selected. */
export type TestFilter = (test: Pick<TestResult, 'policy' | 'name'>) => boolean

export function errored(
  test: Pick<TestResult, 'policy' | 'name'>,
  problems: readonly ToolDiagnostic[],
): TestResult {
  return { ...test, status: 'errored', reasons: [], problems, printed: '' }
}
