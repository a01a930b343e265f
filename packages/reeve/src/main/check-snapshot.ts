import type { SnapshotLine } from '@reeve/contract'
import { storedRowProblem } from '../model/stored/index.ts'
import { CopyChecker } from '../state/index.ts'

type RowLine = Extract<SnapshotLine, { readonly Row: unknown }>

/**
 * Finds rows that no server could use, before anything is written. The checksum of a snapshot only
 * proves that it is the file somebody wrote.
 */
export function snapshotRowCheck(): (line: RowLine, upTo: number) => string | undefined {
  let checker: CopyChecker | undefined
  return ({ Row: [table, key, ...indexes], Body }, upTo) => {
    checker ??= new CopyChecker(upTo)
    const row = parse(Body)
    if (row === undefined) return 'its body is not JSON'
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      return 'its body is not a JSON object'
    return checker.problemOf({ table, key, indexes, row }) ?? storedRowProblem(table, row)
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
