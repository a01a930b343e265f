import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joinStoredRow } from '../../state/index.ts'
import { rowKey, encodeRowValue, RowChecksumError } from './row-format.ts'
import { packRows, unpackRows, type StoredEntry } from './level-db.ts'

/** Any text, also one that UTF-8 does not hold as it is. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\n', 'a\nb\nc', '\u0000', '\u0001', '\ud800\n\udc00', 'é\n😀'),
)

function rawRow(table: string, key: string, text: string): StoredEntry {
  const stored = rowKey(table, key)
  return [stored, Uint8Array.from(encodeRowValue(stored, text))]
}

test('packed rows: rows come out of a page as they went into it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyText, anyText, anyText)), (rows) => {
      const page = packRows(rows.map(([table, key, text]) => rawRow(table, key, text)))
      const unpacked = unpackRows(page).map((row) => [row.table, row.key, joinStoredRow(row)])
      assert.deepEqual(unpacked, rows)
    }),
  )
})

test('packed rows: a row with any bit changed, or under another key, is refused by name', () => {
  const [key, value] = rawRow('jobs', 'default!web', '[1,1]\n{}')
  for (let bit = 0; bit < value.length * 8; bit++) {
    const changed = Uint8Array.from(value)
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.throws(() => packRows([[key, changed]]), { name: 'UnreadableRow', key })
  }
  assert.throws(() => packRows([[`${key}2`, value]]), RowChecksumError)
  assert.throws(() => packRows([[key, value.subarray(0, 3)]]), RowChecksumError)
})
