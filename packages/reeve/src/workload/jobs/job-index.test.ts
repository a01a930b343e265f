import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aJob } from '../../../test/build/index.ts'
import { aStore } from '../../../test/build/store.ts'
import { namespacedKey, put, remove, type Store } from '../../state/index.ts'
import { JobsByModifyIndex, scanJobIndex, type JobIndexSnapshot } from './job-index.ts'

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

function keysOf(order: JobIndexSnapshot, reverse = false): readonly string[] {
  return [...scanJobIndex(order, undefined, reverse)].map(({ key }) => key)
}

/** Computes the order from the rows. */
function sorted({ tables: { jobs } }: Store): readonly string[] {
  return [...jobs.keys()].toSorted(
    (a, b) => (jobs.modifyIndexOf(b) ?? 0) - (jobs.modifyIndexOf(a) ?? 0) || (a < b ? -1 : 1),
  )
}

test('job index: the order matches the rows after any writes and deletes', async () => {
  await fc.assert(
    fc.asyncProperty(commits, async (list) => {
      const { store } = await aStore()
      const jobs = new JobsByModifyIndex(store)
      for (const { written, removed, isAsked } of list) {
        write(store, written, removed)
        if (isAsked) assert.deepEqual(keysOf(jobs.snapshot), sorted(store))
      }
      assert.deepEqual(keysOf(jobs.snapshot), sorted(store))
      assert.deepEqual(keysOf(jobs.snapshot, true), sorted(store).toReversed())
    }),
    { numRuns: 60 },
  )
})

test('job index: a scan can start at any position in both directions', async () => {
  const { store } = await aStore()
  const jobs = new JobsByModifyIndex(store)
  for (const ids of [['c', 'a'], ['b'], ['a', 'e', 'd']]) write(store, ids, undefined)
  const { snapshot } = jobs
  const all = [...scanJobIndex(snapshot, undefined, false)]
  for (const [at, start] of all.entries()) {
    assert.deepEqual([...scanJobIndex(snapshot, start, false)], all.slice(at))
    assert.deepEqual([...scanJobIndex(snapshot, start, true)], all.slice(0, at + 1).toReversed())
  }
})

test('job index: a snapshot is not affected by later changes', async () => {
  const { store } = await aStore()
  const jobs = new JobsByModifyIndex(store)
  write(store, ['a', 'b', 'c'], undefined)
  const before = jobs.snapshot
  const keys = keysOf(before)
  // More changes than outdated entries are retained.
  for (let round = 0; round < 3_000; round++) write(store, ['a'], undefined)
  assert.deepEqual(keysOf(before), keys)
  assert.deepEqual(keysOf(jobs.snapshot), sorted(store))
  assert.ok(jobs.snapshot.count < 2_000, `${jobs.snapshot.count} places for 3 jobs`)
})
