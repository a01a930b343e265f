import type { v2 } from '@reeve/contract'

/** Where and why a policy said no, in one line. */
export function findingText({ rule, file, line, column, message }: v2.PolicyFinding): string {
  const column_ = column === null ? '' : `, column ${column}`
  const place =
    line === null ? '' : ` (${file === undefined ? '' : `${file} `}line ${line}${column_})`
  return `${rule === null ? '' : `${rule}: `}${message}${place}`
}
