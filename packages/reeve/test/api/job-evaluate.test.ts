import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { namespacedKey, put } from '../../src/state/index.ts'
import { aGroup, anAllocation, anId } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'

async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

test('evaluate: makes an evaluation of the job as it is', async () => {
  const server = await aServer({ Priority: 40 })
  const reply = await server.call('evaluateJob', { ...ofJob(), body: { JobID: 'web' } })
  const evaluations = await server.ok('listJobEvaluations', ofJob())
  const [evaluation] = evaluations.filter((one) => one.CreateIndex === 3)
  assert.deepEqual(reply.body, {
    EvalID: evaluation?.ID,
    EvalCreateIndex: 3,
    JobModifyIndex: 2,
    Warnings: '',
    Index: 3,
    LastContact: 0,
    KnownLeader: true,
    NextToken: '',
  })
  assert.deepEqual(
    [evaluation?.TriggeredBy, evaluation?.Priority, evaluation?.Status],
    ['job-register', 40, 'pending'],
  )
  assert.equal((await server.ok('readJob', ofJob())).Version, 0)
})

test('evaluate: without a body the path names the job', async () => {
  const server = await aServer({})
  assert.notEqual((await server.ok('evaluateJob', ofJob())).EvalID, '')
})

const refusals: readonly {
  name: string
  job?: Input<Job>
  jobId?: string
  body: object
  want: readonly [number, string]
}[] = [
  { name: 'a body without the job', body: {}, want: [400, 'Job ID must be specified'] },
  { name: 'another job', body: { JobID: 'other' }, want: [400, 'JobID not same as job name'] },
  { name: 'an unknown job', jobId: 'gone', body: { JobID: 'gone' }, want: [404, 'job not found'] },
  {
    name: 'a periodic job',
    job: PERIODIC,
    body: { JobID: 'web' },
    want: [400, "can't evaluate periodic job"],
  },
  {
    name: 'a parameterized job',
    job: PARAMETERIZED,
    body: { JobID: 'web' },
    want: [400, "can't evaluate parameterized job"],
  },
]
for (const { name, job = {}, jobId, body, want } of refusals)
  test(`evaluate: ${name} is refused, and nothing is written`, async () => {
    const server = await aServer(job)
    const before = server.context.store.index
    assert.deepEqual(await server.refusal('evaluateJob', { ...ofJob(jobId), body }), want)
    assert.equal(server.context.store.index, before)
  })

test('evaluate: children of a parameterized job can be evaluated', async () => {
  const server = await aServer(PARAMETERIZED)
  const { DispatchedJobID } = await server.ok('dispatchJob', ofJob())
  await server.ok('evaluateJob', ofJob(DispatchedJobID))
})

const cases: readonly { name: string; fields: object; policy?: object; marked: boolean }[] = [
  { name: 'a failed one', fields: { ClientStatus: 'failed' }, marked: true },
  { name: 'not a running one', fields: { ClientStatus: 'running' }, marked: false },
  { name: 'not a complete one', fields: { ClientStatus: 'complete' }, marked: false },
  {
    name: 'not one that is replaced',
    fields: { ClientStatus: 'failed', NextAllocation: anId('alloc', 9) },
    marked: false,
  },
  {
    name: 'not one of a group that places nothing again',
    fields: { ClientStatus: 'failed' },
    policy: { Attempts: 0, Unlimited: false },
    marked: false,
  },
  {
    name: 'not one of a group that is gone',
    fields: { ClientStatus: 'failed', TaskGroup: 'gone' },
    marked: false,
  },
]
for (const { name, fields, policy = {}, marked } of cases)
  test(`force reschedule: marks ${name}`, async () => {
    const server = await aServer({ TaskGroups: [aGroup({ ReschedulePolicy: policy })] })
    const { store } = server.context
    const job = store.tables.jobs.get(namespacedKey('default', 'web'))
    const row = anAllocation({ job, ...fields })
    await store.commit({ by: 'system', cause: undefined, changes: () => [put('allocations', row)] })
      .durable
    const body = { JobID: 'web', EvalOptions: { ForceReschedule: true } }
    const { EvalCreateIndex } = await server.ok('evaluateJob', { ...ofJob(), body })
    const after = store.tables.allocations.get(row.ID)
    assert.equal(after.DesiredTransition?.ForceReschedule ?? false, marked)
    assert.equal(after.AllocModifyIndex === EvalCreateIndex, marked)
  })

const warned: readonly { name: string; fields: object; policy: object; text: string }[] = [
  {
    name: 'a group with failed ones that places nothing again',
    fields: { ClientStatus: 'failed' },
    policy: { Attempts: 0, Unlimited: false },
    text:
      '1 warning:\n\n* Group "app" has rescheduling disabled: ' +
      'its failed allocations are not placed again',
  },
  {
    name: 'not one without failed ones',
    fields: { ClientStatus: 'running' },
    policy: { Attempts: 0, Unlimited: false },
    text: '',
  },
  {
    name: 'not one that places failed ones again',
    fields: { ClientStatus: 'failed' },
    policy: {},
    text: '',
  },
]
for (const { name, fields, policy, text } of warned)
  test(`force reschedule: warns of ${name}`, async () => {
    const server = await aServer({ TaskGroups: [aGroup({ ReschedulePolicy: policy })] })
    const { store } = server.context
    const job = store.tables.jobs.get(namespacedKey('default', 'web'))
    const row = anAllocation({ job, ...fields })
    await store.commit({ by: 'system', cause: undefined, changes: () => [put('allocations', row)] })
      .durable
    const body = { JobID: 'web', EvalOptions: { ForceReschedule: true } }
    assert.equal((await server.ok('evaluateJob', { ...ofJob(), body })).Warnings, text)
    assert.equal((await server.ok('evaluateJob', ofJob())).Warnings, '')
  })

test('force reschedule: nothing is marked unless it is asked for', async () => {
  const server = await aServer({})
  const { store } = server.context
  const job = store.tables.jobs.get(namespacedKey('default', 'web'))
  const row = anAllocation({ job, ClientStatus: 'failed' })
  await store.commit({ by: 'system', cause: undefined, changes: () => [put('allocations', row)] })
    .durable
  await server.ok('evaluateJob', { ...ofJob(), body: { JobID: 'web' } })
  assert.equal(store.tables.allocations.get(row.ID).DesiredTransition, undefined)
})
