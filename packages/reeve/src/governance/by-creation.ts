import { compareCreation } from '../state/index.ts'

interface Keys {
  keysIn(index: string, group: string): Iterable<string>
  createIndexOf(key: string): number | undefined
}

interface Grouped<R> extends Keys {
  get(key: string): R
}

/** The keys of a group in the order of their creation; decodes no row. */
export function oldestKeys(table: Keys, index: string, group: string): readonly string[] {
  return [...table.keysIn(index, group)]
    .map((key) => ({ key, createIndex: table.createIndexOf(key) ?? 0 }))
    .toSorted(compareCreation)
    .map(({ key }) => key)
}

/** The rows of a group in the order of their creation. */
export function oldestFirst<R>(table: Grouped<R>, index: string, group: string): readonly R[] {
  return oldestKeys(table, index, group).map((key) => table.get(key))
}
