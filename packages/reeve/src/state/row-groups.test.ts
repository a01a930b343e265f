import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { RowGroups } from './row-groups.ts'

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

function assertEqual(groups: RowGroups, model: Model): void {
  for (const [place, wanted] of model) assert.deepEqual(groups.keysAt(place), wanted)
  for (let index = 0; index < INDEXES; index++)
    for (const key of KEYS) {
      const places = [...model].filter(([, wanted]) => wanted[index] === key).map(([at]) => at)
      assert.deepEqual(new Set(groups.places(index, key)), new Set(places))
      assert.equal(groups.size(index, key), places.length)
    }
}

test('row groups: rows are in the groups that they were last put into, whoever came and went', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const groups = new RowGroups(INDEXES)
      const model: Model = new Map()
      for (const one of steps) {
        const places = [...model.keys()]
        const place = one.kind === 'add' ? groups.takePlace() : places[one.row % places.length]
        if (place === undefined) continue
        if (one.kind === 'remove') {
          groups.leavePlace(place)
          model.delete(place)
        } else {
          assert.equal(one.kind === 'add' && model.has(place), false)
          groups.move(place, one.keys)
          model.set(place, one.keys)
        }
      }
      assertEqual(groups, model)
    }),
  )
})

test('row groups: a group keeps the order in which rows entered it', () => {
  const groups = new RowGroups(1)
  const places = ['a', 'a', 'b', 'a'].map((key) => {
    const place = groups.takePlace()
    groups.move(place, [key])
    return place
  })
  const [first = 0, second = 0, third = 0, fourth = 0] = places
  assert.deepEqual([...groups.places(0, 'a')], [first, second, fourth])
  groups.move(second, ['b'])
  groups.move(first, ['a'])
  assert.deepEqual([...groups.places(0, 'a')], [first, fourth])
  assert.deepEqual([...groups.places(0, 'b')], [third, second])
})
