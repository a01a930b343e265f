import type { ToolProblem } from './problem.ts'

/** What came of one test. */
export interface TestResult {
  /** The policy or package that is tested. */
  readonly policy: string
  readonly name: string
  readonly status: 'passed' | 'failed' | 'errored' | 'skipped'
  /** Sentences: why it did not pass. */
  readonly reasons: readonly string[]
  readonly problems: readonly ToolProblem[]
  readonly printed: string
  /** Of a test with several. */
  readonly cases?: readonly TestCase[]
}

/** One entry of a test's object. */
export interface TestCase {
  readonly name: string
  readonly passed: boolean
}

/** Whether a test is to be run. */
export type TestChoice = (test: Pick<TestResult, 'policy' | 'name'>) => boolean

export function errored(
  test: Pick<TestResult, 'policy' | 'name'>,
  problems: readonly ToolProblem[],
): TestResult {
  return { ...test, status: 'errored', reasons: [], problems, printed: '' }
}
