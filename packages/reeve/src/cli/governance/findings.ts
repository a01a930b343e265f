import type { v2 } from '@reeve/contract'

/** Formats a policy finding with its source position in one line. */
export function formatFinding({ rule, file, line, column, message }: v2.PolicyFinding): string {
  const place = [
    file ?? '',
    line === null ? '' : `line ${line}`,
    column === null ? '' : `column ${column}`,
  ].filter((part) => part !== '')
  const where = line === null ? '' : ` (${place.join(', ')})`
  return `${rule === null ? '' : `${rule}: `}${message}${where}`
}
