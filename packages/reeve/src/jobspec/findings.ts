import type { Diagnostic } from '@reeve/hcl'
import { DIAGNOSTICS_MAX } from './limits.ts'

/** Errors and warnings of one job file. */
export interface Findings {
  readonly errors: Diagnostic[]
  readonly warnings: Diagnostic[]
}

export function noFindings(): Findings {
  return { errors: [], warnings: [] }
}

/**
 * Adds a diagnostic by severity. `make` is called only if it will be kept: suggesting names for a
 * hundred thousand unknown ones would take minutes.
 */
export function note(findings: Findings, make: () => Diagnostic): void {
  if (findings.errors.length >= DIAGNOSTICS_MAX) return
  const diagnostic = make()
  if (diagnostic.severity === 'error') findings.errors.push(diagnostic)
  else if (findings.warnings.length < DIAGNOSTICS_MAX) findings.warnings.push(diagnostic)
}

export function noteAll(findings: Findings, diagnostics: readonly Diagnostic[]): void {
  for (const diagnostic of diagnostics) note(findings, () => diagnostic)
}

/** Sorts by file and position. */
export function inReadingOrder(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const files = [...new Set(diagnostics.map(({ range }) => range.file))]
  return files.flatMap((file) =>
    diagnostics
      .filter(({ range }) => range.file === file)
      .toSorted((a, b) => a.range.start.offset - b.range.start.offset),
  )
}
