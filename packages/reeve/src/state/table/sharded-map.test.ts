import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { UNSHARDED_ENTRIES_MAX, ShardedMap } from './sharded-map.ts'

const steps = fc.array(
  fc.record({
    action: fc.constantFrom('set', 'set', 'delete'),
    // Around the size at which the map is split into shards.
    number: fc.nat({ max: 20 }),
    value: fc.nat(),
  }),
)

test('ShardedMap equals a Map before, during and after the split', () => {
  fc.assert(
    fc.property(steps, fc.nat({ max: 20 }), (list, short) => {
      const model = new Map<string, number>()
      const map = new ShardedMap<number>()
      for (let i = 0; i < UNSHARDED_ENTRIES_MAX - short; i++) {
        model.set(`default!job-${i}!0000`, i)
        map.set(`default!job-${i}!0000`, i)
      }
      for (const { action, number, value } of list) {
        const key = `new-${number}`
        if (action === 'set') {
          model.set(key, value)
          map.set(key, value)
        } else assert.equal(map.delete(key), model.delete(key))
      }
      assert.equal(map.size, model.size)
      for (const [key, value] of model) assert.equal(map.get(key), value)
      for (let i = 0; i <= 20; i++) assert.equal(map.has(`new-${i}`), model.has(`new-${i}`))
    }),
    { numRuns: 50 },
  )
})
