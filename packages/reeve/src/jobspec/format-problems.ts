import { formatDiagnostic, type Diagnostic } from '@reeve/hcl'

/** One diagnostic per line: `input.hcl:3,5-12: Unsupported argument; …`. */
export function formatProblems(problems: readonly Diagnostic[]): string {
  return problems.map(formatDiagnostic).join('\n')
}
