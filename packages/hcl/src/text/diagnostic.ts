import { DIAGNOSTIC_COUNT_MAX } from '../limits.ts'
import { rangeOf, type Range, type Span } from './source.ts'

/** An error or warning with its position. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning'
  /** A short phrase, equal for all diagnostics of a kind. */
  readonly summary: string
  /** Sentences about this case. */
  readonly detail: string
  readonly range: Range
}

export function errorAt(span: Span, summary: string, detail: string): Diagnostic {
  return { severity: 'error', summary, detail, range: rangeOf(span) }
}

export function warningAt(span: Span, summary: string, detail: string): Diagnostic {
  return { severity: 'warning', summary, detail, range: rangeOf(span) }
}

/**
 * A diagnostic that is rendered only when it is needed. `try` and the dropped branch of a
 * conditional discard millions of them, and finding line numbers and suggestions would dominate.
 */
export interface PendingDiagnostic {
  readonly span: Span
  readonly summary: string
  readonly detail: string | (() => string)
}

/**
 * The budget of the text is exhausted: reported once, because everything after it fails the same
 * way.
 */
export const TOO_EXPENSIVE = 'Evaluation too expensive'

/** Collects at most `DIAGNOSTIC_COUNT_MAX` diagnostics and counts the rest. */
export interface DiagnosticCollector {
  readonly items: (PendingDiagnostic | Diagnostic)[]
  droppedCount: number
  /** Number of diagnostics equal to an earlier one. */
  duplicateCount: number
}

export function createCollector(): DiagnosticCollector {
  return { items: [], droppedCount: 0, duplicateCount: 0 }
}

/**
 * Adds a diagnostic. Returns undefined, like every parsing and evaluating function after an error.
 */
export function report(
  problems: DiagnosticCollector,
  problem: PendingDiagnostic | Diagnostic,
): undefined {
  if (isFull(problems)) problems.droppedCount++
  else if (problems.items.some((one) => isSame(one, problem))) problems.duplicateCount++
  else problems.items.push(problem)
  return undefined
}

/**
 * An error in a dynamic block occurs once per expanded block. Pending diagnostics are not rendered
 * for the comparison: equal summary and position are enough.
 */
function isSame(a: PendingDiagnostic | Diagnostic, b: PendingDiagnostic | Diagnostic): boolean {
  if (a.summary !== b.summary) return false
  if (a.summary === TOO_EXPENSIVE) return true
  if (!isSamePlace(a, b)) return false
  const isLate = typeof a.detail === 'function' && typeof b.detail === 'function'
  return isLate || a.detail === b.detail
}

function isSamePlace(
  a: PendingDiagnostic | Diagnostic,
  b: PendingDiagnostic | Diagnostic,
): boolean {
  if ('range' in a && 'range' in b) {
    const [one, other] = [a.range, b.range]
    const isSameStart = one.start.offset === other.start.offset
    return one.file === other.file && isSameStart && one.end.offset === other.end.offset
  }
  if (!('span' in a) || !('span' in b)) return false
  const [one, other] = [a.span, b.span]
  return one.source === other.source && one.start === other.start && one.end === other.end
}

export function reportAll(
  problems: DiagnosticCollector,
  list: readonly (PendingDiagnostic | Diagnostic)[],
): undefined {
  for (const problem of list) report(problems, problem)
  return undefined
}

/** Whether further diagnostics would be dropped, so that looking for more is wasted work. */
export function isFull(problems: DiagnosticCollector): boolean {
  return problems.items.length >= DIAGNOSTIC_COUNT_MAX
}

/** Includes dropped diagnostics. */
export function countProblems(problems: DiagnosticCollector): number {
  return problems.items.length + problems.droppedCount + problems.duplicateCount
}

/** Whether there are errors; warnings do not count. */
export function hasErrors(problems: DiagnosticCollector): boolean {
  return problems.items.some((one) => !('severity' in one) || one.severity === 'error')
}

/**
 * The diagnostics in the order they were reported. A final one gives the number of dropped
 * diagnostics.
 */
export function toDiagnostics(problems: DiagnosticCollector): readonly Diagnostic[] {
  const list = problems.items.map((one) => ('severity' in one ? one : render(one)))
  const last = list.at(-1)
  if (problems.droppedCount === 0 || last === undefined) return list
  const detail = 'There are more problems, which are not shown.'
  return [...list, { ...last, summary: 'Too many problems', detail }]
}

function render(problem: PendingDiagnostic): Diagnostic {
  const { span, summary, detail } = problem
  return errorAt(span, summary, typeof detail === 'string' ? detail : detail())
}

/** The diagnostics by position: the scanner reports before the parser. */
export function toSortedDiagnostics(problems: DiagnosticCollector): readonly Diagnostic[] {
  return toDiagnostics(problems).toSorted((a, b) => a.range.start.offset - b.range.start.offset)
}
