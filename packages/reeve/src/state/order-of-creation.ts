import { compareText } from '@reeve/kit/sorted-list.ts'

/** A position in one of a table's orders. */
export interface OrderKey {
  readonly key: string
  readonly createIndex: number
}

/** The order of creation: by index, then by key. */
export function compareCreation(a: OrderKey, b: OrderKey): number {
  return a.createIndex - b.createIndex || compareText(a.key, b.key)
}

/**
 * Sorts entries by creation. If they arrive in key order, as most engines return them at start,
 * create index and position are combined into one number, and sorting numbers is ten times as fast
 * as sorting entries, a considerable part of the start time with a million rows.
 */
export function sortByCreation<T extends OrderKey>(entries: readonly T[]): readonly T[] {
  const codes = new Float64Array(entries.length)
  const positionRange = 2 ** Math.ceil(Math.log2(entries.length + 1))
  let last = ''
  for (let position = 0; position < entries.length; position++) {
    const entry = entries[position]
    const code = (entry?.createIndex ?? 0) * positionRange + position
    if (entry === undefined || entry.key < last || !Number.isSafeInteger(code))
      return entries.toSorted(compareCreation)
    codes[position] = code
    last = entry.key
  }
  codes.sort()
  const sorted: T[] = []
  for (const code of codes) {
    const entry = entries[code % positionRange]
    if (entry !== undefined) sorted.push(entry)
  }
  return sorted
}
