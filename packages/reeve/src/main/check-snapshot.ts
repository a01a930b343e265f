import type { SnapshotLine } from '@reeve/contract'
import { storedRowProblem } from '../model/stored/index.ts'
import { SnapshotChecker } from '../state/index.ts'

type RowLine = Extract<SnapshotLine, { readonly Row: unknown }>

/**
 * Creates a check that finds invalid rows before a snapshot is written to a storage. The checksum
 * only proves that the file is unchanged.
 */
export function createSnapshotRowCheck(): (line: RowLine, upTo: number) => string | undefined {
  let checker: SnapshotChecker | undefined
  return ({ Row: [table, key, ...indexes], Body }, upTo) => {
    checker ??= new SnapshotChecker(upTo)
    const row = parse(Body)
    if (row === undefined) return 'its body is not JSON'
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      return 'its body is not a JSON object'
    return checker.findProblem({ table, key, indexes, row }) ?? storedRowProblem(table, row)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}
