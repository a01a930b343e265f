/** A violation that a tool reports. */
export interface Finding {
  readonly path: string
  readonly line: number
  readonly rule: string
  readonly message: string
}

/** Sorts by path and line, so that the output is equal on every machine. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return findings.toSorted(
    (a, b) => compare(a.path, b.path) || a.line - b.line || compare(a.message, b.message),
  )
}

export function formatFinding({ path, line, rule, message }: Finding): string {
  return `${path}:${line}  ${rule}: ${message}`
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
