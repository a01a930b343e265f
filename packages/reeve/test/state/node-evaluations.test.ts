import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeEvaluations, put } from '../../src/state/index.ts'
import { aJob, aNode } from '../build/index.ts'
import { aStore } from '../build/store.ts'

const cases = [
  { name: 'a system job of the same pool', job: { Type: 'system' }, evaluated: true },
  { name: 'a system job of every pool', job: { Type: 'system', NodePool: 'all' }, evaluated: true },
  { name: 'a sysbatch job', job: { Type: 'sysbatch' }, evaluated: false },
  {
    name: 'a system job of another pool',
    job: { Type: 'system', NodePool: 'gpu' },
    evaluated: false,
  },
  {
    name: 'a system job elsewhere',
    job: { Type: 'system', Datacenters: ['eu-*'] },
    evaluated: false,
  },
  { name: 'a stopped system job', job: { Type: 'system', Stop: true }, evaluated: false },
  { name: 'a service without anything there', job: { Type: 'service' }, evaluated: false },
]
for (const { name, job, evaluated } of cases)
  test(`a node that comes has ${name} ${evaluated ? 'evaluated' : 'left alone'}`, async () => {
    const { store } = await aStore()
    const stored = { ...aJob({ ID: 'everywhere' }), ...job }
    await store.commit({ by: 'system', cause: undefined, changes: () => [put('jobs', stored)] })
      .durable
    const changes = nodeEvaluations(store.tables, aNode({ Datacenter: 'dc1' }), {
      stamp: { index: 9, timeMs: 0 },
      ids: { uuid: () => '00000000-0000-4000-8000-000000000001' },
    })
    assert.equal(changes.length, evaluated ? 1 : 0)
  })
