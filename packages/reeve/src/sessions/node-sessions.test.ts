import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DesiredMessage } from '@reeve/contract'
import { Value } from 'typebox/value'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import { put } from '../state/index.ts'
import { aJob, anAllocation, anId } from '../../test/build/index.ts'
import { aStore } from '../../test/build/store.ts'
import { encodeDesiredState, JobJsonCache, type NodeDesiredState } from './node-sessions.ts'

const web = { ...aJob(), ID: 'web' }
const api = { ...aJob(), ID: 'api' }

async function read(desired: Partial<NodeDesiredState>): Promise<readonly DesiredMessage[]> {
  const { store } = await aStore()
  const changes = () => [web, api].map((job) => put('job_versions', job))
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  const whole = { full: false, index: 9, rows: [], removed: [], ...desired }
  return encodeDesiredState(new JobJsonCache(store.tables), whole).map((text) => {
    const message: unknown = JSON.parse(joinChunks(text))
    assert.ok(Value.Check(DesiredMessage, message))
    return message
  })
}

function rows(job: typeof web, count: number) {
  const { ID: JobID } = job
  return Array.from({ length: count }, (_, n) => anAllocation({ job, JobID, ID: anId('alloc', n) }))
}

test('desired state: an empty full sync is sent too', async () => {
  assert.deepEqual(await read({ full: true }), [
    { kind: 'desired', full: true, more: false, index: 9, allocations: [], removed: [] },
  ])
})

test('desired state: a message contains each job once', async () => {
  const [message, ...others] = await read({ rows: [...rows(web, 3), ...rows(api, 2)] })
  assert.deepEqual(others, [])
  assert.deepEqual(
    message?.allocations.map(({ allocation, job, jobOf }) => [allocation.JobID, job?.ID, jobOf]),
    [
      ['web', 'web', undefined],
      ['web', undefined, 0],
      ['web', undefined, 0],
      ['api', 'api', undefined],
      ['api', undefined, 3],
    ],
  )
})

test('desired state: a long full sync is split into messages, each with its jobs', async () => {
  const messages = await read({ full: true, rows: rows(web, 450), removed: ['gone'] })
  assert.deepEqual(
    messages.map(({ allocations, more, removed }) => [allocations.length, more, removed]),
    [
      [200, true, []],
      [200, true, []],
      [50, false, ['gone']],
    ],
  )
  for (const { allocations } of messages) assert.equal(allocations[0]?.job?.ID, 'web')
})

test('desired state: an allocation without its job version is omitted', async () => {
  const other = { ...aJob(), ID: 'purged' }
  const [message] = await read({ rows: [...rows(other, 1), ...rows(web, 1)] })
  assert.deepEqual(
    message?.allocations.map(({ allocation }) => allocation.JobID),
    ['web'],
  )
})
