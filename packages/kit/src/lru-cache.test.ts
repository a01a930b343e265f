import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LruCache } from './lru-cache.ts'

test('LruCache evicts the least recently used entry', () => {
  const cache = new LruCache<string, number>({ weightMax: 2 })
  cache.set('a', 1)
  cache.set('b', 2)
  assert.equal(cache.get('a'), 1)
  cache.set('c', 3)
  assert.equal(cache.get('b'), undefined)
  assert.equal(cache.get('a'), 1)
  assert.equal(cache.get('c'), 3)
})

test('LruCache bounds weights and counts, and stores a too heavy entry alone', () => {
  const options = { weightMax: 10, countMax: 3, weigh: (_: string, text: string) => text.length }
  const cache = new LruCache<string, string>(options)
  cache.set('a', 'x'.repeat(11))
  assert.equal(cache.size, 1)
  for (const key of ['b', 'c', 'd', 'e']) cache.set(key, 'x')
  assert.equal(cache.size, 3)
  cache.set('f', 'x'.repeat(9))
  assert.deepEqual(
    ['c', 'd', 'e', 'f'].map((key) => cache.get(key)?.length),
    [undefined, undefined, 1, 9],
  )
})

test('LruCache: the weight equals that of the stored entries after any operations', () => {
  const action = fc.tuple(fc.constantFrom('set', 'get', 'delete'), fc.nat(5), fc.nat(6))
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const cache = new LruCache<number, number>({ weightMax: 8, weigh: (_, weight) => weight })
      for (const [what, key, weight] of actions)
        if (what === 'set') cache.set(key, weight)
        else if (what === 'get') cache.get(key)
        else cache.delete(key)
      const weights = [0, 1, 2, 3, 4, 5].map((key) => cache.get(key) ?? 0)
      assert.ok(weights.reduce((sum, one) => sum + one, 0) <= 8)
    }),
  )
})
