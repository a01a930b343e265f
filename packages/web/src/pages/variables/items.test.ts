import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rowsError, toItems, EMPTY_ROW, toRows } from './items.ts'

test('the items of a variable are rows by key, and come back as they were', () => {
  const items = { user: 'web', password: ' secret ' }
  assert.deepEqual(
    toRows(items).map(({ key }) => key),
    ['password', 'user'],
  )
  assert.deepEqual(toItems(toRows(items)), items)
})

test('a variable without items has one row to write into, which is no item', () => {
  assert.deepEqual(toRows({}), [EMPTY_ROW])
  assert.deepEqual(toItems([EMPTY_ROW, { key: ' a ', value: '' }]), { a: '' })
})

const FAULTS = [
  { name: 'nothing is written', rows: [EMPTY_ROW], fault: /at least one/ },
  { name: 'a key is missing', rows: [{ key: ' ', value: 'x' }], fault: /no key/ },
  {
    name: 'a key is duplicated',
    rows: [
      { key: 'a', value: '1' },
      { key: 'a ', value: '2' },
    ],
    fault: /a is duplicated/,
  },
]
for (const { name, rows, fault } of FAULTS)
  test(`items are not stored when ${name}`, () => assert.match(rowsError(rows) ?? '', fault))

test('items are stored when every one has a key of its own', () => {
  assert.equal(rowsError([{ key: 'a', value: '' }, EMPTY_ROW]), undefined)
})
