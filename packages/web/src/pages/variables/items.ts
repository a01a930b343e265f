/** One item of a variable while it is edited: half-typed rows are rows too. */
export interface ItemRow {
  readonly key: string
  readonly value: string
}

export const NO_ROW: ItemRow = { key: '', value: '' }

/** The items by key, with an empty row to write the next one into when there are none. */
export function rowsOf(items: Readonly<Record<string, string>>): readonly ItemRow[] {
  const rows = Object.entries(items)
    .map(([key, value]) => ({ key, value }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return rows.length === 0 ? [NO_ROW] : rows
}

/** Rows without a key and without a value say nothing. */
export function itemsOf(rows: readonly ItemRow[]): Readonly<Record<string, string>> {
  return Object.fromEntries(written(rows).map(({ key, value }) => [key, value]))
}

/** Why the rows cannot be stored; undefined when they can. */
export function faultIn(rows: readonly ItemRow[]): string | undefined {
  const keys = written(rows).map(({ key }) => key)
  if (keys.length === 0) return 'A variable has at least one item.'
  if (keys.includes('')) return 'An item has a value and no key.'
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  return twice === undefined ? undefined : `The key ${twice} is there twice.`
}

function written(rows: readonly ItemRow[]): readonly ItemRow[] {
  return rows
    .map(({ key, value }) => ({ key: key.trim(), value }))
    .filter(({ key, value }) => key !== '' || value !== '')
}
