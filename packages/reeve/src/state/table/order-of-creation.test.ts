import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { compareCreation, sortByCreation } from './key-order.ts'

const entries = fc.uniqueArray(
  fc.record({
    key: fc.string({ maxLength: 4 }),
    createIndex: fc.oneof(fc.nat(5), fc.maxSafeNat()),
  }),
  { selector: ({ key }) => key },
)

for (const order of ['of their keys', 'of anything'] as const)
  test(`entries that come in the order ${order} are put in the order of creation`, () => {
    fc.assert(
      fc.property(entries, (given) => {
        const all =
          order === 'of anything' ? given : given.toSorted((a, b) => compareText(a.key, b.key))
        assert.deepEqual(sortByCreation(all), all.toSorted(compareCreation))
      }),
      { seed: 1 },
    )
  })
