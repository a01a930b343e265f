import type { Diagnostic } from '@reeve/hcl'
import { DIAGNOSTICS_MAX } from './limits.ts'

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
