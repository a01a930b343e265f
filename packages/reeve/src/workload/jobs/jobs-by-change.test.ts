import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aJob } from '../../../test/build/index.ts'
import { aStore } from '../../../test/build/store.ts'
import { namespacedKey, put, remove, type Store } from '../../state/index.ts'
import { JobsByChange, walkChanges, type ChangeOrder } from './jobs-by-change.ts'

const IDS = ['a', 'b', 'c', 'd', 'e'] as const

/** Jobs written and deleted in one commit. */
const commits = fc.array(
  fc.record({
    written: fc.uniqueArray(fc.constantFrom(...IDS), { maxLength: 4 }),
    removed: fc.constantFrom(...IDS, undefined),
    isAsked: fc.boolean(),
  }),
  { maxLength: 30 },
)

function write(store: Store, ids: readonly string[], gone: string | undefined): void {
  const changes = ids.filter((id) => id !== gone).map((ID) => put('jobs', aJob({ ID })))
  const key = namespacedKey('default', gone ?? '')
  const removal = gone !== undefined && store.tables.jobs.has(key) ? [remove('jobs', key)] : []
  store.commit({ by: 'system', cause: undefined, changes: () => [...changes, ...removal] })
}

function keysOf(order: ChangeOrder, reverse = false): readonly string[] {
  return [...walkChanges(order, undefined, reverse)].map(({ key }) => key)
}

/** Computes the order from the rows. */
function sorted({ tables: { jobs } }: Store): readonly string[] {
  return [...jobs.keys()].toSorted(
    (a, b) => (jobs.modifyIndexOf(b) ?? 0) - (jobs.modifyIndexOf(a) ?? 0) || (a < b ? -1 : 1),
  )
}

test('jobs by change: whatever is written and removed, the order is that of the rows', async () => {
  await fc.assert(
    fc.asyncProperty(commits, async (list) => {
      const { store } = await aStore()
      const jobs = new JobsByChange(store)
      for (const { written, removed, isAsked } of list) {
        write(store, written, removed)
        if (isAsked) assert.deepEqual(keysOf(jobs.order), sorted(store))
      }
      assert.deepEqual(keysOf(jobs.order), sorted(store))
      assert.deepEqual(keysOf(jobs.order, true), sorted(store).toReversed())
    }),
    { numRuns: 60 },
  )
})

test('jobs by change: every position leads to the rest, from either end', async () => {
  const { store } = await aStore()
  const jobs = new JobsByChange(store)
  for (const ids of [['c', 'a'], ['b'], ['a', 'e', 'd']]) write(store, ids, undefined)
  const { order } = jobs
  const all = [...walkChanges(order, undefined, false)]
  for (const [at, start] of all.entries()) {
    assert.deepEqual([...walkChanges(order, start, false)], all.slice(at))
    assert.deepEqual([...walkChanges(order, start, true)], all.slice(0, at + 1).toReversed())
  }
})

test('jobs by change: an order that was given out stays, though jobs change', async () => {
  const { store } = await aStore()
  const jobs = new JobsByChange(store)
  write(store, ['a', 'b', 'c'], undefined)
  const before = jobs.order
  const keys = keysOf(before)
  // More changes than outdated entries are retained.
  for (let round = 0; round < 3_000; round++) write(store, ['a'], undefined)
  assert.deepEqual(keysOf(before), keys)
  assert.deepEqual(keysOf(jobs.order), sorted(store))
  assert.ok(jobs.order.count < 2_000, `${jobs.order.count} places for 3 jobs`)
})
