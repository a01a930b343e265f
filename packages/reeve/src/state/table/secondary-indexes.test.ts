import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SecondaryIndexes } from './secondary-indexes.ts'

const INDEXES = 3
const KEYS = ['a', 'b', 'c'] as const
/** More rows than there is room for at the beginning. */
const ROWS_MAX = 40

type Keys = readonly (string | null)[]

const keys = fc.tuple(
  ...Array.from({ length: INDEXES }, () => fc.constantFrom<string | null>(...KEYS, null)),
)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), keys }) },
  fc.record({ kind: fc.constant('move' as const), keys, row: fc.nat(ROWS_MAX) }),
  fc.record({ kind: fc.constant('remove' as const), row: fc.nat(ROWS_MAX) }),
)

/** The groups of each place. */
type Model = Map<number, Keys>

function assertEqual(groups: SecondaryIndexes, model: Model): void {
  for (const [place, wanted] of model) assert.deepEqual(groups.indexKeys(place), wanted)
  for (let index = 0; index < INDEXES; index++)
    for (const key of KEYS) {
      const places = [...model].filter(([, wanted]) => wanted[index] === key).map(([at]) => at)
      assert.deepEqual(new Set(groups.rowIds(index, key)), new Set(places))
      assert.equal(groups.size(index, key), places.length)
    }
}

test('secondary indexes: rows have their last key after any inserts and deletes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const groups = new SecondaryIndexes(INDEXES)
      const model: Model = new Map()
      for (const one of steps) {
        const places = [...model.keys()]
        const place = one.kind === 'add' ? groups.allocateRowId() : places[one.row % places.length]
        if (place === undefined) continue
        if (one.kind === 'remove') {
          groups.freeRowId(place)
          model.delete(place)
        } else {
          assert.equal(one.kind === 'add' && model.has(place), false)
          groups.reindex(place, one.keys)
          model.set(place, one.keys)
        }
      }
      assertEqual(groups, model)
    }),
  )
})

test('secondary indexes: rows of a key keep their insertion order', () => {
  const groups = new SecondaryIndexes(1)
  const places = ['a', 'a', 'b', 'a'].map((key) => {
    const place = groups.allocateRowId()
    groups.reindex(place, [key])
    return place
  })
  const [first = 0, second = 0, third = 0, fourth = 0] = places
  assert.deepEqual([...groups.rowIds(0, 'a')], [first, second, fourth])
  groups.reindex(second, ['b'])
  groups.reindex(first, ['a'])
  assert.deepEqual([...groups.rowIds(0, 'a')], [first, fourth])
  assert.deepEqual([...groups.rowIds(0, 'b')], [third, second])
})
