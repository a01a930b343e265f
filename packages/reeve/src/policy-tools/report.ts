import type { Diagnostic } from '@reeve/hcl'
import type { NativeDiagnostic } from '@reeve/native-policy'
import type { RegoDiagnostic } from '@reeve/rego'

/** A problem in a file, with its position; line 0 means the file as a whole. */
export interface ToolDiagnostic {
  readonly file: string
  readonly line: number
  readonly column: number
  /** A note explains another problem. */
  readonly severity: 'error' | 'warning' | 'note'
  readonly message: string
  /** The source line; undefined if unknown. */
  readonly sourceLine: string | undefined
}

export function fileProblem(file: string, message: string): ToolDiagnostic {
  return { file, line: 0, column: 0, severity: 'error', message, sourceLine: undefined }
}

export function fromNative(
  { message, position, sourceLine }: NativeDiagnostic,
  severity: ToolDiagnostic['severity'] = 'error',
): ToolDiagnostic {
  const { file, line, column } = position
  return { file, line, column, severity, message, sourceLine }
}

export function fromRego(
  { message, location }: Pick<RegoDiagnostic, 'message' | 'location'>,
  texts: ReadonlyMap<string, string>,
): ToolDiagnostic {
  const { file, row, column } = location
  const sourceLine = texts.get(file)?.split('\n')[row - 1]
  return { file, line: row, column, severity: 'error', message, sourceLine }
}

export function fromManifest({ range, summary, detail }: Diagnostic, text: string): ToolDiagnostic {
  const { line, column } = range.start
  const message = detail === '' ? summary : `${summary}. ${detail}`
  const sourceLine = text.split('\n')[line - 1]
  return { file: range.file, line, column, severity: 'error', message, sourceLine }
}

/** Formats position and message, then the source line with a caret below the position. */
export function formatProblem(problem: ToolDiagnostic): string {
  const { file, line, column, severity, message, sourceLine } = problem
  const prefix = severity === 'warning' ? 'warning: ' : ''
  if (line === 0) return `${file}: ${prefix}${message}`
  const head = `${file}:${line}:${column}: ${prefix}${message}`
  if (sourceLine === undefined) return head
  const displayed = sourceLine.trimEnd()
  // Tabs are kept in the caret line, so that both lines have the same columns.
  const indent = Array.from(displayed)
    .slice(0, column - 1)
    .map((character) => (character === '\t' ? '\t' : ' '))
    .join('')
  const number = String(line)
  return `${head}\n  ${number} | ${displayed}\n  ${' '.repeat(number.length)} | ${indent}^`
}

/** Converts a problem to its JSON form. */
export function toJsonProblem({ file, line, column, severity, message }: ToolDiagnostic): object {
  return line === 0 ? { file, severity, message } : { file, line, column, severity, message }
}

/** Result of one policy. */
export interface EvaluationReport {
  readonly policy: string
  readonly outcome: keyof typeof POLICY_EXIT_CODES
  /** Human-readable findings, line by line. */
  readonly lines: readonly string[]
  readonly problems: readonly ToolDiagnostic[]
  readonly printed: string
  /** Machine-readable result. */
  readonly trace: object
}

/** Serializes JSON data. Integers beyond the range of doubles keep all digits. */
export function stringifyExact(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map((item) => stringifyExact(item)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${JSON.stringify(key)}:${stringifyExact(item)}`)
  return `{${members.join(',')}}`
}

/** Output of a command: requested output goes to `out`, everything else to `err`. */
export interface ToolTerminal {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Exit codes of the tools. */
export const POLICY_EXIT_CODES = {
  pass: 0,
  /** The query has a value that is no verdict. */
  value: 0,
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
