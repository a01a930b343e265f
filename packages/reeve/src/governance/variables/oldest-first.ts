import { compareCreation } from '../../state/index.ts'

interface Grouped<R> {
  keysIn(index: string, group: string): Iterable<string>
  createIndexOf(key: string): number | undefined
  get(key: string): R
}

/** The rows of a group in the order of their creation. */
export function oldestFirst<R>(table: Grouped<R>, index: string, group: string): readonly R[] {
  return [...table.keysIn(index, group)]
    .map((key) => ({ key, createIndex: table.createIndexOf(key) ?? 0 }))
    .toSorted(compareCreation)
    .map(({ key }) => table.get(key))
}
