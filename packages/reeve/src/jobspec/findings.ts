import type { Diagnostic } from '@reeve/hcl'
import { DIAGNOSTICS_MAX } from './limits.ts'

/** What was found wrong or odd while one job file is read. */
export interface Findings {
  readonly errors: Diagnostic[]
  readonly warnings: Diagnostic[]
}

export function noFindings(): Findings {
  return { errors: [], warnings: [] }
}

/**
 * Sorts a diagnostic by its severity. It is made only when it will be kept: finding the nearest
 * name of a hundred thousand unknown ones would take minutes.
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

/** In the order in which the text is read, one file after the other. */
export function inReadingOrder(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const files = [...new Set(diagnostics.map(({ range }) => range.file))]
  return files.flatMap((file) =>
    diagnostics
      .filter(({ range }) => range.file === file)
      .toSorted((a, b) => a.range.start.offset - b.range.start.offset),
  )
}
