import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, JobSummary, TaskGroupSummary } from '@reeve/contract'
import { aGroup } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register, withScheduler } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']
const NOT_FOUND = [404, 'job not found']

async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

// Reads

test('list jobs: stubs with their summaries', async () => {
  const server = await aServer({ Meta: { team: 'core' }, Priority: 70 })
  const [stub, ...rest] = await server.ok('listJobs')
  assert.deepEqual(rest, [])
  const { JobSummary: summary, SubmitTime: _time, ...fields } = stub ?? assert.fail()
  assert.deepEqual(fields, {
    ID: 'web',
    ParentID: '',
    Name: 'web',
    Namespace: 'default',
    Datacenters: ['*'],
    NodePool: 'default',
    Multiregion: null,
    Type: 'service',
    Priority: 70,
    Periodic: false,
    ParameterizedJob: false,
    Stop: false,
    Status: 'pending',
    StatusDescription: '',
    CreateIndex: 2,
    ModifyIndex: 2,
    JobModifyIndex: 2,
  })
  assert.deepEqual([summary.JobID, Object.keys(summary.Summary)], ['web', ['app']])
})

test('list jobs: Meta is shown only when asked for, and only where there is any', async () => {
  const server = await aServer({ ID: 'a', Meta: { team: 'core' } }, { ID: 'b' })
  const metas = async (query = {}) =>
    (await server.ok('listJobs', { query })).map((stub) => stub.Meta)
  assert.deepEqual(await metas(), [undefined, undefined])
  assert.deepEqual(await metas({ meta: true }), [{ team: 'core' }, undefined])
})

test('list jobs: what a job is a parent of is a flag', async () => {
  const server = await aServer({ ID: 'a', ...PERIODIC }, { ID: 'b', ...PARAMETERIZED })
  assert.deepEqual(
    (await server.ok('listJobs')).map(({ Periodic, ParameterizedJob }) => [
      Periodic,
      ParameterizedJob,
    ]),
    [
      [true, false],
      [false, true],
    ],
  )
})

test('list jobs: none is an empty list', async () => {
  assert.equal((await (await aServer()).call('listJobs')).text, '[]')
})

for (const route of ['readJob', 'readJobSummary'] as const)
  test(`${route}: an unknown job is not found`, async () => {
    assert.deepEqual(await (await aServer({})).refusal(route, ofJob('gone')), NOT_FOUND)
    assert.deepEqual(await (await aServer({})).refusal(route, ofJob('WEB')), NOT_FOUND)
    assert.deepEqual(
      await (await aServer({})).refusal(route, ofJob('web', { namespace: 'x' })),
      NOT_FOUND,
    )
  })

for (const route of ['listJobAllocations', 'listJobEvaluations'] as const)
  test(`${route}: an unknown job has none`, async () => {
    assert.deepEqual(await (await aServer()).ok(route, ofJob('gone')), [])
  })

// Ids with slashes

const IDS = [
  'a/b',
  'a/dispatch-1-abc',
  'deep/er/and/deeper',
  'summary',
  'x/summary/y',
  'käse',
  'a%2Fb',
  'a+b',
  'a?b=c',
  '100%',
]

for (const id of IDS)
  test(`job ids: ${id} is read, listed and stopped, percent-encoded`, async () => {
    const server = await aServer({ ID: id })
    assert.equal((await server.ok('readJob', ofJob(id))).ID, id)
    assert.equal((await server.ok('readJobSummary', ofJob(id))).JobID, id)
    assert.equal((await server.ok('listJobEvaluations', ofJob(id))).length, 1)
    assert.deepEqual(await server.ok('listJobAllocations', ofJob(id)), [])
    await server.ok('updateJob', { ...register({ ID: id, Priority: 9 }), ...ofJob(id) })
    assert.notEqual((await server.ok('stopJob', ofJob(id))).EvalID, '')
  })

for (const id of ['a/b', 'deep/er/and/deeper'])
  test(`job ids: ${id} may be sent as it is`, async () => {
    const server = await aServer({ ID: id })
    for (const suffix of ['', '/summary', '/evaluations', '/allocations'])
      assert.equal((await server.send('GET', `/v1/job/${id}${suffix}`)).status, 200, suffix)
    const update = await server.send('PUT', `/v1/job/${id}`, register({ ID: id }))
    assert.equal(update.status, 200)
    const stopped = await server.send('DELETE', `/v1/job/${id}`)
    assert.equal(stopped.status, 200)
    assert.equal((await server.ok('readJob', ofJob(id))).Stop, true)
  })

test('job ids: one that ends like an action is named by its encoded form', async () => {
  const server = await aServer({ ID: 'b' })
  await server.ok('registerJob', register({ ID: 'b/summary' }))
  assert.equal((await server.ok('readJob', ofJob('b/summary'))).ID, 'b/summary')
  assert.equal((await server.ok('readJobSummary', ofJob('b/summary'))).JobID, 'b/summary')
  assert.equal((await server.ok('readJobSummary', ofJob('b'))).JobID, 'b')
  assert.notEqual((await server.ok('stopJob', ofJob('b/summary'))).EvalID, '')
  assert.equal((await server.ok('readJob', ofJob('b'))).Stop, false)
})

test('job ids: a path below a job that means nothing is an id of nobody', async () => {
  const server = await aServer({})
  for (const path of ['/v1/job/web/nope', '/v1/job/web/', '/v1/job//', '/v1/job/']) {
    const reply = await server.send('GET', path)
    assert.deepEqual([reply.status, reply.text], NOT_FOUND, path)
  }
})

test('job ids: a wrong method below a job is 405', async () => {
  const server = await aServer({})
  for (const path of [
    '/v1/job/web/summary',
    '/v1/job/web/allocations',
    '/v1/job/a/b/evaluations',
  ]) {
    const reply = await server.send('POST', path)
    assert.deepEqual([reply.status, reply.text], [405, 'Invalid method'], path)
  }
})

// A job's life

function counts({ Summary }: JobSummary): TaskGroupSummary | undefined {
  return Summary['app']
}

const NONE = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 }

test('status: a service is pending until it is placed, runs, and is dead when it was stopped', async () => {
  const server = await aServer({})
  const status = async () => (await server.ok('readJob', ofJob())).Status
  assert.equal(await status(), 'pending')
  const { run, report, settle, allocationsOf } = await withScheduler(server)
  await settle()
  assert.equal(await status(), 'running')
  const { JobModifyIndex, ModifyIndex } = await server.ok('readJob', ofJob())
  assert.ok(ModifyIndex > JobModifyIndex, 'the status is no part of what was asked for')
  for (const row of allocationsOf('web')) await report(row, 'running')
  assert.equal(await status(), 'running')
  await server.ok('stopJob', ofJob())
  await settle()
  assert.equal(await status(), 'dead')
  await run()
  assert.equal(await status(), 'running')
})

test('status: a batch job is dead when its work is done', async () => {
  const { server, run, report, allocationsOf } = await withScheduler(await aServer())
  await run({ Type: 'batch' })
  const [row] = allocationsOf('web')
  await report(row ?? assert.fail(), 'running')
  assert.equal((await server.ok('readJob', ofJob())).Status, 'running')
  await report(row ?? assert.fail(), 'complete')
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Status, job.Stop], ['dead', false])
})

test('status: a job that cannot be placed stays pending', async () => {
  const { server, run } = await withScheduler(await aServer(), 0)
  await run({ Type: 'batch' })
  assert.equal((await server.ok('readJob', ofJob())).Status, 'pending')
})

test('status: a job whose deployment waits for room is running', async () => {
  const { server, run } = await withScheduler(await aServer(), 0)
  await run()
  assert.equal((await server.ok('readJob', ofJob())).Status, 'running')
})

for (const Type of ['service', 'batch', 'system', 'sysbatch'])
  test(`status: a new ${Type} job is ${Type === 'system' ? 'running' : 'pending'}`, async () => {
    const server = await aServer({ Type })
    const wanted = Type === 'system' ? 'running' : 'pending'
    assert.equal((await server.ok('readJob', ofJob())).Status, wanted)
  })

test('summary: counts allocations by what their nodes say', async () => {
  const { server, run, report, allocationsOf } = await withScheduler(await aServer(), 2)
  const summary = async () => counts(await server.ok('readJobSummary', ofJob()))
  await run({
    Type: 'batch',
    TaskGroups: [aGroup({ Count: 3, ReschedulePolicy: { Attempts: 0, Unlimited: false } })],
  })
  assert.deepEqual(await summary(), { ...NONE, Starting: 3 })
  const [a, b, c] = allocationsOf('web')
  for (const row of [a, b, c]) await report(row ?? assert.fail(), 'running')
  assert.deepEqual(await summary(), { ...NONE, Running: 3 })
  await report(a ?? assert.fail(), 'complete')
  await report(b ?? assert.fail(), 'failed')
  assert.deepEqual(await summary(), { ...NONE, Running: 1, Complete: 1, Failed: 1 })
})

test('summary: what could not be placed is queued, and no longer when it could', async () => {
  const { server, run, settle, allocationsOf } = await withScheduler(await aServer(), 1)
  const huge = aGroup({
    Count: 3,
    tasks: [
      { Name: 't', Driver: 'raw_exec', Config: { command: 'x' }, Resources: { MemoryMB: 3_000 } },
    ],
  })
  await run({ TaskGroups: [huge] })
  const summary = async () => counts(await server.ok('readJobSummary', ofJob()))
  assert.deepEqual(await summary(), { ...NONE, Starting: 2, Queued: 1 })
  await server.ok('registerJob', register({ TaskGroups: [{ ...huge, Count: 2 }] }))
  await settle()
  assert.equal(allocationsOf('web').length >= 2, true)
  // The answer was held against the contract; this names the part that is looked at.
  assert.equal((await summary())?.Queued, 0)
})

test('summary: groups that come later begin at zero, groups that go keep their counts', async () => {
  const server = await aServer({ TaskGroups: [aGroup({ Name: 'a' })] })
  await server.ok('registerJob', register({ TaskGroups: [aGroup({ Name: 'b' })] }))
  const { Summary } = await server.ok('readJobSummary', ofJob())
  assert.deepEqual(Summary, { a: NONE, b: NONE })
})

test('summary: allocations of an earlier registration do not count', async () => {
  const { server, run, report, allocationsOf, settle } = await withScheduler(await aServer())
  await run()
  const [old] = allocationsOf('web')
  await report(old ?? assert.fail(), 'running')
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await settle()
  await run()
  await report(allocationsOf('web').find((row) => row.ID === old?.ID) ?? assert.fail(), 'complete')
  assert.deepEqual(counts(await server.ok('readJobSummary', ofJob())), { ...NONE, Starting: 1 })
})

test('job evaluations: all of the job, by id, and of nobody else', async () => {
  const { server, run } = await withScheduler(await aServer({ ID: 'other' }))
  await run()
  await run({ Priority: 60 })
  const evaluations = await server.ok('listJobEvaluations', ofJob())
  assert.deepEqual(
    evaluations.map((one) => [one.JobID, one.Status]),
    [
      ['web', 'complete'],
      ['web', 'complete'],
    ],
  )
  const ids = evaluations.map((one) => one.ID)
  assert.deepEqual(ids, ids.toSorted())
})

test('job allocations: stubs by id, without their job', async () => {
  const { server, run } = await withScheduler(await aServer())
  await run({ TaskGroups: [aGroup({ Count: 3 })] })
  const allocations = await server.ok('listJobAllocations', ofJob())
  assert.deepEqual(
    allocations.map((one) => one.JobID),
    ['web', 'web', 'web'],
  )
  const ids = allocations.map((one) => one.ID)
  assert.deepEqual(ids, ids.toSorted())
  assert.equal('Job' in (allocations[0] ?? {}), false)
})

// Who may

const READS = ['readJob', 'readJobSummary', 'listJobAllocations', 'listJobEvaluations'] as const

for (const route of READS)
  test(`${route}: needs read-job in the namespace of the request, whether the job exists or not`, async () => {
    const { server, root, as, client } = await aSecuredServer()
    await server.ok('registerJob', as(root, register()))
    const reader = await client('namespace "default" { capabilities = ["read-job"] }')
    await server.ok(route, as(reader, ofJob()))
    const lister = await client(
      'namespace "default" { capabilities = ["list-jobs", "submit-job"] }',
    )
    for (const token of [lister, await client('namespace "other" { policy = "write" }')])
      for (const id of ['web', 'gone'])
        assert.deepEqual(await server.refusal(route, as(token, ofJob(id))), DENIED)
    assert.deepEqual(
      await server.refusal(route, as(reader, ofJob('web', { namespace: 'x' }))),
      DENIED,
    )
  })

test('listJobs: needs list-jobs, not read-job', async () => {
  const { server, as, client } = await aSecuredServer()
  await server.ok(
    'listJobs',
    as(await client('namespace "default" { capabilities = ["list-jobs"] }')),
  )
  const reader = await client('namespace "default" { capabilities = ["read-job"] }')
  assert.deepEqual(await server.refusal('listJobs', as(reader)), DENIED)
})
