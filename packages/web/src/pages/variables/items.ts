/** One item of a variable in the editor; it may be incomplete. */
export interface ItemRow {
  readonly key: string
  readonly value: string
}

export const EMPTY_ROW: ItemRow = { key: '', value: '' }

/** Returns the items sorted by key; without items, one empty row. */
export function toRows(items: Readonly<Record<string, string>>): readonly ItemRow[] {
  const rows = Object.entries(items)
    .map(([key, value]) => ({ key, value }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return rows.length === 0 ? [EMPTY_ROW] : rows
}

/** Returns the items; empty rows are ignored. */
export function toItems(rows: readonly ItemRow[]): Readonly<Record<string, string>> {
  return Object.fromEntries(nonEmptyRows(rows).map(({ key, value }) => [key, value]))
}

/** Returns why the rows cannot be saved; undefined if they can. */
export function rowsError(rows: readonly ItemRow[]): string | undefined {
  const keys = nonEmptyRows(rows).map(({ key }) => key)
  if (keys.length === 0) return 'A variable requires at least one item.'
  if (keys.includes('')) return 'An item has a value but no key.'
  const duplicate = keys.find((key, index) => keys.indexOf(key) !== index)
  return duplicate === undefined ? undefined : `The key ${duplicate} is duplicated.`
}

function nonEmptyRows(rows: readonly ItemRow[]): readonly ItemRow[] {
  return rows
    .map(({ key, value }) => ({ key: key.trim(), value }))
    .filter(({ key, value }) => key !== '' || value !== '')
}
