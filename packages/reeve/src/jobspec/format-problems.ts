import { formatDiagnostic, type Diagnostic } from '@reeve/hcl'

/** One problem on each line, with its place: `input.hcl:3,5-12: Unsupported argument; …`. */
export function formatProblems(problems: readonly Diagnostic[]): string {
  return problems.map(formatDiagnostic).join('\n')
}
