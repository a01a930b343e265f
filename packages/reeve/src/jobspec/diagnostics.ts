import type { JobFilePlace } from '@reeve/contract'
import { type Diagnostic, formatDiagnostic, formatRange, type Range } from '@reeve/hcl'
import type { JobProblem } from '../model/index.ts'
import { DIAGNOSTICS_MAX } from './limits.ts'
import type { SourceMap } from './source-map.ts'

/** Errors and warnings of one job file. */
export interface DiagnosticList {
  readonly errors: Diagnostic[]
  readonly warnings: Diagnostic[]
}

export function createDiagnosticList(): DiagnosticList {
  return { errors: [], warnings: [] }
}

/**
 * Adds a diagnostic by severity. `make` is called only if it will be kept: suggesting names for a
 * hundred thousand unknown ones would take minutes.
 */
export function report(findings: DiagnosticList, make: () => Diagnostic): void {
  if (findings.errors.length >= DIAGNOSTICS_MAX) return
  const diagnostic = make()
  if (diagnostic.severity === 'error') findings.errors.push(diagnostic)
  else if (findings.warnings.length < DIAGNOSTICS_MAX) findings.warnings.push(diagnostic)
}

export function reportAll(findings: DiagnosticList, diagnostics: readonly Diagnostic[]): void {
  for (const diagnostic of diagnostics) report(findings, () => diagnostic)
}

/** Sorts by file and position. */
export function sortBySource(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const files = [...new Set(diagnostics.map(({ range }) => range.file))]
  return files.flatMap((file) =>
    diagnostics
      .filter(({ range }) => range.file === file)
      .toSorted((a, b) => a.range.start.offset - b.range.start.offset),
  )
}

/** A validation problem with its position in the job file. */
export interface LocatedProblem extends JobProblem {
  readonly range: Range
}

/**
 * Adds source positions to the problems of `validateJob`. An unset field gets the position of its
 * closest enclosing block.
 */
export function locateProblems(
  problems: readonly JobProblem[],
  positions: SourceMap,
): readonly LocatedProblem[] {
  const placed = problems.map((problem) => ({ ...problem, range: positions.find(problem.path) }))
  // Sorted by position; problems at one position keep their order.
  return placed.toSorted((a, b) => a.range.start.offset - b.range.start.offset)
}

/**
 * Returns the source positions of fields. A field that is not in the file gets the position of its
 * block.
 */
export function locatePaths(paths: readonly string[], positions: SourceMap): JobFilePlace[] {
  return paths.map((path) => {
    const { start } = positions.find(path)
    return { Line: start.line, Column: start.column }
  })
}

/** One line: `web.hcl:12,5-11: TaskGroups[0].Tasks[0].Driver: Missing task driver`. */
export function formatLocatedProblem({ path, message, range }: LocatedProblem): string {
  return `${formatRange(range)}: ${path === '' ? '' : `${path}: `}${message}`
}

/** One diagnostic per line: `input.hcl:3,5-12: Unsupported argument; …`. */
export function formatProblems(problems: readonly Diagnostic[]): string {
  return problems.map(formatDiagnostic).join('\n')
}
