import type { DiffType, FieldDiff, ObjectDiff } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'

/** Sort order of diff types; diffs do not depend on the order of the input. */
const TYPE_RANK: Readonly<Record<DiffType, number>> = { Edited: 0, Added: 1, Deleted: 2, None: 3 }

export function compareFields(a: FieldDiff, b: FieldDiff): number {
  return compareText(a.Name, b.Name) || compareText(a.Old, b.Old) || compareText(a.New, b.New)
}

export function compareObjects(a: ObjectDiff, b: ObjectDiff): number {
  return (
    compareText(a.Name, b.Name) ||
    TYPE_RANK[a.Type] - TYPE_RANK[b.Type] ||
    compareLists(a.Fields ?? [], b.Fields ?? [], compareFields) ||
    compareLists(a.Objects ?? [], b.Objects ?? [], compareObjects)
  )
}

/** Compares by length, then by the first different element. */
function compareLists<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
): number {
  if (a.length !== b.length) return a.length - b.length
  for (const [i, entry] of a.entries()) {
    const other = b[i]
    const order = other === undefined ? 0 : compare(entry, other)
    if (order !== 0) return order
  }
  return 0
}
