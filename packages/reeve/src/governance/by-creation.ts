import { compareCreation } from '../state/index.ts'

interface KeyIndex {
  keysByIndex(index: string, group: string): Iterable<string>
  createIndexOf(key: string): number | undefined
}

interface RowIndex<R> extends KeyIndex {
  get(key: string): R
}

/** Returns the keys of an index group in the order of creation, without decoding rows. */
export function keysByCreation(table: KeyIndex, index: string, group: string): readonly string[] {
  return [...table.keysByIndex(index, group)]
    .map((key) => ({ key, createIndex: table.createIndexOf(key) ?? 0 }))
    .toSorted(compareCreation)
    .map(({ key }) => key)
}

/** Returns the rows of an index group in the order of creation. */
export function rowsByCreation<R>(table: RowIndex<R>, index: string, group: string): readonly R[] {
  return keysByCreation(table, index, group).map((key) => table.get(key))
}
