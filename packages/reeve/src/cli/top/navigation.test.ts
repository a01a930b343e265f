import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handleKey, INITIAL_POSITION, type Key, type ViewPosition } from './input.ts'

const AROUND = { ids: ['a', 'b', 'c'], topMax: 4 }

const cases: readonly {
  readonly name: string
  readonly keys: readonly Key[]
  readonly ends: Partial<ViewPosition>
}[] = [
  { name: 'the first arrow chooses the first row', keys: ['up'], ends: { selectedId: 'a' } },
  { name: 'arrows go through the rows', keys: ['down', 'down'], ends: { selectedId: 'b' } },
  { name: 'and stop at the last one', keys: ['page-down', 'page-down'], ends: { selectedId: 'c' } },
  { name: 'End and Home go there at once', keys: ['last', 'first'], ends: { selectedId: 'a' } },
  { name: 'Enter opens the first row', keys: ['open'], ends: { view: 'details', selectedId: 'a' } },
  {
    name: 'in a text the arrows scroll, not beyond its end',
    keys: ['open', 'page-down', 'up'],
    ends: { view: 'details', top: 3 },
  },
  { name: 'back keeps what is chosen', keys: ['last', 'open', 'back'], ends: { selectedId: 'c' } },
  { name: 'help comes and goes', keys: ['help', 'help'], ends: { view: 'list' } },
]

for (const { name, keys, ends } of cases) {
  test(`top: ${name}`, () => {
    const place = keys.reduce((at, key) => handleKey(at, key, AROUND), INITIAL_POSITION)
    assert.deepEqual({ ...place, ...ends }, place)
  })
}

test('top: where there is nothing, nothing is chosen or opened', () => {
  const nothing = { ids: [], topMax: 0 }
  for (const key of ['up', 'last', 'open'] as const) {
    assert.deepEqual(handleKey(INITIAL_POSITION, key, nothing), INITIAL_POSITION)
  }
})
