import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Key } from './keys.ts'
import { BEGINNING, press, type Place } from './navigation.ts'

const AROUND = { ids: ['a', 'b', 'c'], topMax: 4 }

const cases: readonly {
  readonly name: string
  readonly keys: readonly Key[]
  readonly ends: Partial<Place>
}[] = [
  { name: 'the first arrow chooses the first row', keys: ['up'], ends: { chosen: 'a' } },
  { name: 'arrows go through the rows', keys: ['down', 'down'], ends: { chosen: 'b' } },
  { name: 'and stop at the last one', keys: ['page-down', 'page-down'], ends: { chosen: 'c' } },
  { name: 'End and Home go there at once', keys: ['last', 'first'], ends: { chosen: 'a' } },
  { name: 'Enter opens the first row', keys: ['open'], ends: { view: 'details', chosen: 'a' } },
  {
    name: 'in a text the arrows scroll, not beyond its end',
    keys: ['open', 'page-down', 'up'],
    ends: { view: 'details', top: 3 },
  },
  { name: 'back keeps what is chosen', keys: ['last', 'open', 'back'], ends: { chosen: 'c' } },
  { name: 'help comes and goes', keys: ['help', 'help'], ends: { view: 'list' } },
]

for (const { name, keys, ends } of cases) {
  test(`top: ${name}`, () => {
    const place = keys.reduce((at, key) => press(at, key, AROUND), BEGINNING)
    assert.deepEqual({ ...place, ...ends }, place)
  })
}

test('top: where there is nothing, nothing is chosen or opened', () => {
  const nothing = { ids: [], topMax: 0 }
  for (const key of ['up', 'last', 'open'] as const) {
    assert.deepEqual(press(BEGINNING, key, nothing), BEGINNING)
  }
})
