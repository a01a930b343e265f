import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecentTexts } from './recent-texts.ts'

test('recent texts: a text is made once for a row while it is among the last ones', () => {
  const made: string[] = []
  const texts = new RecentTexts<{ readonly id: string }>(2, ({ id }) => {
    made.push(id)
    return `text of ${id}`
  })
  const [a, b, c] = [{ id: 'a' }, { id: 'b' }, { id: 'c' }]
  assert.deepEqual(
    [a, a, b, a, c, c, a].map((row) => texts.of(row)),
    ['a', 'a', 'b', 'a', 'c', 'c', 'a'].map((id) => `text of ${id}`),
  )
  assert.deepEqual(made, ['a', 'b', 'c', 'a'])
})

test('recent texts: a row that has changed is another one', () => {
  const texts = new RecentTexts<object>(2, (row) => JSON.stringify(row))
  assert.equal(texts.of({ n: 1 }), '{"n":1}')
  assert.equal(texts.of({ n: 2 }), '{"n":2}')
})
