import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareText, SortedList } from './sorted-list.ts'

const step = fc.tuple(fc.constantFrom('add', 'delete'), fc.string({ maxLength: 2 }))

test('sorted list: behaves like a sorted set in both directions', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.string({ maxLength: 2 }), (steps, from) => {
      const list = new SortedList<string>(compareText)
      const model = new Set<string>()
      for (const [action, key] of steps) {
        if (action === 'add') {
          assert.equal(list.add(key), !model.has(key))
          model.add(key)
        } else assert.equal(list.delete(key), model.delete(key))
      }
      const sorted = [...model].toSorted(compareText)
      assert.equal(list.size, model.size)
      assert.deepEqual([...list.ascending()], sorted)
      assert.deepEqual([...list.descending()], sorted.toReversed())
      assert.deepEqual(
        [...list.ascending(from)],
        sorted.filter((key) => key >= from),
      )
      assert.deepEqual([...list.descending(from)], sorted.filter((key) => key <= from).toReversed())
    }),
  )
})

for (const order of ['ascending', 'descending', 'mixed'] as const)
  test(`sorted list: keeps 5,000 keys sorted when they arrive ${order}`, () => {
    const keys = Array.from({ length: 5000 }, (_, i) => String(i).padStart(5, '0'))
    const arrival =
      order === 'mixed' ? keys.map((_, i) => keys[(i * 1237) % 5000] ?? '') : [...keys]
    if (order === 'descending') arrival.toReversed()
    const list = new SortedList<string>(compareText)
    for (const key of arrival) list.add(key)
    assert.deepEqual([...list.ascending()], keys)
    const filled = new SortedList<string>(compareText)
    filled.assign(arrival)
    assert.deepEqual([...filled.ascending()], keys)
    assert.deepEqual([...list.ascending('04998')], ['04998', '04999'])
  })
