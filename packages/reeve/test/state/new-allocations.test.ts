import assert from 'node:assert/strict'
import test from 'node:test'
import {
  namespacedKey,
  put,
  withDerivedRows,
  type Change,
  type Store,
} from '../../src/state/index.ts'
import { aJob, anAllocation, anId } from '../build/index.ts'
import { aStore } from '../build/store.ts'

const job = { ...aJob(), Status: 'running' as const }
const ID = anId('alloc', 1)

/** As a plan writes an allocation: with the index of the commit that makes it. */
async function place(store: Store): Promise<void> {
  await write(store, put('jobs', job), put('job_versions', job))
  const index = store.index + 1
  const stamps = { CreateIndex: index, ModifyIndex: index, AllocModifyIndex: index }
  const row = anAllocation({ job, ID, ClientStatus: 'pending' })
  await write(store, put('allocations', { ...row, ...stamps }))
}

async function write(store: Store, ...changes: readonly Change[]): Promise<void> {
  const all = () => withDerivedRows(store.tables, changes)
  await store.commit({ by: 'system', cause: 'PlanResult', changes: all }).durable
}

function countsIn({ tables }: Store) {
  const summary = tables.job_summaries.get(namespacedKey('default', 'web')).Summary['app']
  return { starting: summary?.Starting, running: summary?.Running }
}

for (const isCheckpointed of [true, false])
  test(`an allocation from before a restart is not counted as new, ${isCheckpointed ? 'loaded' : 'replayed'}`, async () => {
    const { disk, store } = await aStore()
    await place(store)
    assert.deepEqual(countsIn(store), { starting: 1, running: 0 })
    if (isCheckpointed) await store.checkpoint()
    // Its last commit wrote another table: what counts is when this one was written.
    await write(store, put('jobs', { ...job, Meta: { changed: 'yes' } }))
    const again = await aStore(disk)
    const row = again.store.tables.allocations.get(ID)
    await write(again.store, put('allocations', { ...row, ClientStatus: 'running' }))
    assert.deepEqual(countsIn(again.store), { starting: 0, running: 1 })
  })
