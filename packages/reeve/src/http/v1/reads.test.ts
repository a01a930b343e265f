import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from '../../state/index.ts'
import { anAllocation } from '../../../test/build/index.ts'
import { aStore } from '../../../test/build/store.ts'
import { scanIndex, scanByIdPrefix } from './reads.ts'

async function aList() {
  const { store } = await aStore()
  const { allocations } = store.tables
  for (const [i, JobID] of ['a', 'b', 'a', 'b', 'a'].entries()) {
    const ID = `00000000-0000-4000-8000-00000000000${9 - i}`
    const row = anAllocation({ ID, JobID, Namespace: 'default' })
    await store.commit({ by: 'system', cause: undefined, changes: () => [put('allocations', row)] })
      .durable
  }
  const all = scanByIdPrefix(allocations, 'alloc', undefined)
  assert.ok(all.ok)
  return { all: all.value, group: scanIndex(allocations, 'job', 'default!a') }
}

for (const reverse of [false, true])
  test(`index scans: allocations of a job have the order of the whole list, reverse ${reverse}`, async () => {
    const { all, group } = await aList()
    const wanted = [...all.scan(undefined, reverse)].filter((row) => row.JobID === 'a')
    assert.equal(wanted.length, 3)
    assert.deepEqual([...group.scan(undefined, reverse)], wanted)
    const [, second] = wanted
    assert.ok(second)
    assert.equal(group.tokenOf(second), all.tokenOf(second))
    assert.deepEqual([...group.scan(group.tokenOf(second), reverse)], wanted.slice(1))
  })
