import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DerivedValueCache } from './allocations.ts'

test('derived values: a value is computed once while its row is cached', () => {
  const made: string[] = []
  const texts = new DerivedValueCache<{ readonly id: string }>(2, ({ id }) => {
    made.push(id)
    return `text of ${id}`
  })
  const [a, b, c] = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]
  assert.deepEqual(
    [a, a, b, a, c, c, a].map((row) => texts.get(row)),
    ['a', 'a', 'b', 'a', 'c', 'c', 'a'].map((id) => `text of ${id}`),
  )
  assert.deepEqual(made, ['a', 'b', 'c', 'a'])
})

test('derived values: a changed row is a new key', () => {
  const texts = new DerivedValueCache<object>(2, (row) => JSON.stringify(row))
  assert.equal(texts.get({ n: 1 }), '{"n":1}')
  assert.equal(texts.get({ n: 2 }), '{"n":2}')
})
