import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LazySortedKeys, BucketedKeys } from './key-order.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'

const key = fc.string({ unit: fc.constantFrom('a', 'b', '-'), maxLength: 5 })
const step = fc.record({ key, deletes: fc.boolean() })

type AnyOrder = LazySortedKeys<{ readonly key: string }> | BucketedKeys<{ readonly key: string }>

/** Both implementations have the same contract and differ in cost. */
const ORDERS: readonly (readonly [name: string, make: () => AnyOrder])[] = [
  ['late', () => new LazySortedKeys()],
  ['random', () => new BucketedKeys()],
]

function keysOf(walk: Iterable<{ readonly key: string }>): string[] {
  return Array.from(walk, (entry) => entry.key)
}

function assertOrdered(order: AnyOrder, model: ReadonlySet<string>, from: string): void {
  const sorted = [...model].toSorted(compareText)
  assert.deepEqual(keysOf(order.ascending()), sorted)
  assert.deepEqual(keysOf(order.descending()), sorted.toReversed())
  assert.deepEqual(
    keysOf(order.ascending({ key: from })),
    sorted.filter((one) => one >= from),
  )
  assert.deepEqual(
    keysOf(order.descending({ key: from })),
    sorted.filter((one) => one <= from).toReversed(),
  )
}

for (const [name, make] of ORDERS) {
  test(`${name} key order: walks are sorted from any key, however adds and deletes came`, () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), fc.array(step), key, (steps, later, from) => {
        const order = make()
        const model = new Set<string>()
        const take = (one: { readonly key: string; readonly deletes: boolean }): void => {
          if (one.deletes) assert.equal(order.delete({ key: one.key }), model.delete(one.key))
          else if (!model.has(one.key)) {
            order.add({ key: one.key })
            model.add(one.key)
          }
        }
        for (const one of steps) take(one)
        assertOrdered(order, model, from)
        for (const one of later) take(one)
        assertOrdered(order, model, from)
      }),
    )
  })

  test(`${name} key order: assigning replaces what was there`, () => {
    const order = make()
    order.add({ key: 'old' })
    order.assign([{ key: 'b' }, { key: 'abc' }, { key: 'abca' }])
    assert.deepEqual(keysOf(order.ascending()), ['abc', 'abca', 'b'])
  })

  test(`${name} key order: chunks that are divided and emptied keep every key in its place`, () => {
    const order = make()
    const model = new Set<string>()
    // 7,919 is prime: every number below 5,000 occurs once, never next to its neighbour.
    const keyAt = (at: number): string => `default!job-${(at * 7_919) % 5_000}`
    for (let at = 0; at < 5_000; at++) {
      order.add({ key: keyAt(at) })
      model.add(keyAt(at))
      if (at % 3 === 0) assert.equal(order.delete({ key: keyAt(at) }), model.delete(keyAt(at)))
      if (at % 1_000 === 999) assertOrdered(order, model, 'default!job-3')
    }
    for (const gone of [...model].toSorted(compareText).slice(0, 3_000)) {
      assert.equal(order.delete({ key: gone }), true)
      model.delete(gone)
    }
    assertOrdered(order, model, 'default!job-9')
    assert.equal(order.delete({ key: 'default!job-none' }), false)
  })
}
