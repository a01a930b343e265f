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
 * Entries in the order of creation. When they come in the order of their keys, as most engines give
 * them at a start, the index and the place of an entry are one number, and numbers are sorted ten
 * times as fast as entries: of a million rows it was a good part of the start.
 */
export function inOrderOfCreation<T extends OrderKey>(entries: readonly T[]): readonly T[] {
  const codes = new Float64Array(entries.length)
  const places = 2 ** Math.ceil(Math.log2(entries.length + 1))
  let last = ''
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]
    const code = (entry?.createIndex ?? 0) * places + at
    if (entry === undefined || entry.key < last || !Number.isSafeInteger(code))
      return entries.toSorted(compareCreation)
    codes[at] = code
    last = entry.key
  }
  codes.sort()
  const sorted: T[] = []
  for (const code of codes) {
    const entry = entries[code % places]
    if (entry !== undefined) sorted.push(entry)
  }
  return sorted
}
