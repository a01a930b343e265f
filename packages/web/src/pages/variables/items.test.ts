import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultIn, itemsOf, NO_ROW, rowsOf } from './items.ts'

test('the items of a variable are rows by key, and come back as they were', () => {
  const items = { user: 'web', password: ' secret ' }
  assert.deepEqual(
    rowsOf(items).map(({ key }) => key),
    ['password', 'user'],
  )
  assert.deepEqual(itemsOf(rowsOf(items)), items)
})

test('a variable without items has one row to write into, which is no item', () => {
  assert.deepEqual(rowsOf({}), [NO_ROW])
  assert.deepEqual(itemsOf([NO_ROW, { key: ' a ', value: '' }]), { a: '' })
})

const FAULTS = [
  { name: 'nothing is written', rows: [NO_ROW], fault: /at least one/ },
  { name: 'a key is missing', rows: [{ key: ' ', value: 'x' }], fault: /no key/ },
  {
    name: 'a key is there twice',
    rows: [
      { key: 'a', value: '1' },
      { key: 'a ', value: '2' },
    ],
    fault: /a is there twice/,
  },
]
for (const { name, rows, fault } of FAULTS)
  test(`items are not stored when ${name}`, () => assert.match(faultIn(rows) ?? '', fault))

test('items are stored when every one has a key of its own', () => {
  assert.equal(faultIn([{ key: 'a', value: '' }, NO_ROW]), undefined)
})
