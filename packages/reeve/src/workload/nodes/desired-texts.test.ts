import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DesiredMessage } from '@reeve/contract'
import { Value } from 'typebox/value'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import { put } from '../../state/index.ts'
import { aJob, anAllocation, anId } from '../../../test/build/index.ts'
import { aStore } from '../../../test/build/store.ts'
import { desiredTexts, JobTexts, type Desired } from './desired-texts.ts'

const web = { ...aJob(), ID: 'web' }
const api = { ...aJob(), ID: 'api' }

async function read(desired: Partial<Desired>): Promise<readonly DesiredMessage[]> {
  const { store } = await aStore()
  const changes = () => [web, api].map((job) => put('job_versions', job))
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  const whole = { full: false, index: 9, rows: [], removed: [], ...desired }
  return desiredTexts(new JobTexts(store.tables), whole).map((text) => {
    const message: unknown = JSON.parse(joinChunks(text))
    assert.ok(Value.Check(DesiredMessage, message))
    return message
  })
}

function rows(job: typeof web, count: number) {
  const { ID: JobID } = job
  return Array.from({ length: count }, (_, n) => anAllocation({ job, JobID, ID: anId('alloc', n) }))
}

test('desired: an empty listing is said too', async () => {
  assert.deepEqual(await read({ full: true }), [
    { kind: 'desired', full: true, more: false, index: 9, allocations: [], removed: [] },
  ])
})

test('desired: allocations of one job carry it once in a message', async () => {
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

test('desired: a long listing goes on in further messages, each with its jobs', async () => {
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

test('desired: an allocation whose version is gone is left out', async () => {
  const other = { ...aJob(), ID: 'purged' }
  const [message] = await read({ rows: [...rows(other, 1), ...rows(web, 1)] })
  assert.deepEqual(
    message?.allocations.map(({ allocation }) => allocation.JobID),
    ['web'],
  )
})
