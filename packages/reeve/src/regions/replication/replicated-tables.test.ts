import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffVersions, type KeyedVersion } from './replicated-tables.ts'

function marked(text: string): KeyedVersion[] {
  return text
    .split(' ')
    .filter((one) => one !== '')
    .map((one) => ({ key: one.slice(0, 1), version: one.slice(1) }))
}

const cases = [
  { name: 'nothing and nothing are equal', there: '', here: '', changed: '', gone: '' },
  { name: 'what is new is fetched', there: 'a1 b1', here: '', changed: 'ab', gone: '' },
  { name: 'what is equal is left alone', there: 'a1 b1', here: 'b1 a1', changed: '', gone: '' },
  { name: 'what is other is fetched', there: 'a2 b1', here: 'a1 b1', changed: 'a', gone: '' },
  { name: 'what is gone there goes here', there: 'b1', here: 'a1 b1', changed: '', gone: 'a' },
  { name: 'all at once', there: 'a2 c1 d1', here: 'a1 b1 d1', changed: 'ac', gone: 'b' },
  { name: 'an empty list empties the copies', there: '', here: 'a1 b1', changed: '', gone: 'ab' },
]
for (const c of cases)
  test(`diffVersions: ${c.name}`, () => {
    const { changed, removed } = diffVersions(marked(c.there), marked(c.here))
    assert.deepEqual([changed.join(''), removed.join('')], [c.changed, c.gone])
  })
