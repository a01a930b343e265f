import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { namespacedKey, put } from '../../src/state/index.ts'
import { aGroup, anAllocation, anId } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register, withScheduler } from './cluster.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']

/** A server without ACLs: what a stop does is the same for whoever may. */
async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

test('stop: answers the evaluation that will stop the allocations', async () => {
  const server = await aServer({ Priority: 30 })
  const reply = await server.call('stopJob', ofJob())
  const evaluations = await server.ok('listJobEvaluations', ofJob())
  const evaluation = evaluations.find((one) => one.TriggeredBy === 'job-deregister')
  assert.deepEqual(reply.body, {
    EvalID: evaluation?.ID,
    EvalCreateIndex: 3,
    JobModifyIndex: 3,
    VolumeEvalID: '',
    VolumeEvalIndex: 0,
    Index: 3,
    LastContact: 0,
    KnownLeader: true,
    NextToken: '',
  })
  assert.equal(reply.index, 3)
  assert.deepEqual(
    [evaluation?.Priority, evaluation?.Status, evaluation?.JobModifyIndex],
    [30, 'pending', 3],
  )
})

test('stop: the job stays, stopped, as a new version with its history', async () => {
  const server = await aServer({}, { TaskGroups: [aGroup({ Count: 2 })] })
  await server.ok('stopJob', ofJob())
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(
    [job.Stop, job.Version, job.CreateIndex, job.JobModifyIndex, job.TaskGroups[0]?.Count],
    [true, 2, 2, 4, 2],
  )
  const versions = server.context.store.tables.job_versions.rowsByIndex(
    'job',
    namespacedKey('default', 'web'),
  )
  assert.deepEqual(
    versions.map((row) => [row.Version, row.Stop]),
    [
      [0, false],
      [1, false],
      [2, true],
    ],
  )
})

for (const Type of ['service', 'batch', 'system', 'sysbatch'])
  test(`stop: the evaluation of a ${Type} job is of type service, because it places nothing`, async () => {
    const server = await aServer({ Type })
    await server.ok('stopJob', ofJob())
    const evaluations = await server.ok('listJobEvaluations', ofJob())
    assert.equal(evaluations.find((one) => one.TriggeredBy === 'job-deregister')?.Type, 'service')
  })

test('stop: again gives another evaluation and no new version', async () => {
  const server = await aServer({})
  await server.ok('stopJob', ofJob())
  const again = await server.ok('stopJob', ofJob())
  assert.notEqual(again.EvalID, '')
  assert.equal((await server.ok('readJob', ofJob())).Version, 1)
})

test('stop: again answers the index that the job still has', async () => {
  const server = await aServer({})
  const first = await server.ok('stopJob', ofJob())
  const again = await server.ok('stopJob', ofJob())
  assert.equal(again.JobModifyIndex, first.JobModifyIndex)
  assert.notEqual(again.EvalCreateIndex, first.EvalCreateIndex)
  const evaluations = await server.ok('listJobEvaluations', ofJob())
  const evaluation = evaluations.find((one) => one.ID === again.EvalID)
  assert.equal(evaluation?.JobModifyIndex, first.JobModifyIndex)
  // So it serves as the index to enforce.
  const index = { EnforceIndex: true, JobModifyIndex: again.JobModifyIndex }
  await server.ok('registerJob', register({}, index))
})

for (const query of [{}, { purge: true }, { namespace: 'gone' }])
  test(`stop: an unknown job is nothing to stop, with ${JSON.stringify(query)}`, async () => {
    const server = await aServer()
    const reply = await server.call('stopJob', ofJob('gone', query))
    assert.equal(reply.status, 200)
    assert.equal(reply.headers['x-service-index'], '0')
    assert.deepEqual(reply.body, {
      EvalID: '',
      EvalCreateIndex: 0,
      JobModifyIndex: 0,
      VolumeEvalID: '',
      VolumeEvalIndex: 0,
      Index: 0,
      LastContact: 0,
      KnownLeader: true,
      NextToken: '',
    })
    assert.equal(server.context.store.index, 1)
  })

for (const [name, job] of [
  ['periodic', PERIODIC],
  ['parameterized', PARAMETERIZED],
] as const)
  test(`stop: a ${name} job is dead at once and gets no evaluation`, async () => {
    const server = await aServer(job)
    const reply = await server.ok('stopJob', ofJob())
    assert.deepEqual([reply.EvalID, reply.EvalCreateIndex, reply.Index], ['', 3, 3])
    const read = await server.ok('readJob', ofJob())
    assert.deepEqual([read.Stop, read.Status, read.Version], [true, 'dead', 1])
  })

// Parameters

test('eval_priority: is the priority of the evaluation', async () => {
  for (const [given, wanted] of [
    [0, 50],
    [1, 1],
    [100, 100],
  ] as const) {
    const server = await aServer({})
    const { EvalID } = await server.ok('stopJob', ofJob('web', { eval_priority: given }))
    const read = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
    assert.equal(read.Priority, wanted)
  }
})

const WRONG: readonly { query: NonNullable<CallOptions['query']>; text: string }[] = [
  { query: { eval_priority: -1 }, text: 'Eval priority must be between 1 and 100 inclusively' },
  { query: { eval_priority: 101 }, text: 'Eval priority must be between 1 and 100 inclusively' },
  {
    query: { eval_priority: 'high' },
    text: 'Failed to parse value of "eval_priority" (high) as a int: strconv.Atoi: parsing "high": invalid syntax',
  },
  {
    query: { purge: 'maybe' },
    text: 'Failed to parse value of "purge" (maybe) as a bool: strconv.ParseBool: parsing "maybe": invalid syntax',
  },
  {
    query: { global: 2 },
    text: 'Failed to parse value of "global" (2) as a bool: strconv.ParseBool: parsing "2": invalid syntax',
  },
]

for (const { query, text } of WRONG)
  test(`stop: ${JSON.stringify(query)} is refused and stops nothing`, async () => {
    const server = await aServer({})
    assert.deepEqual(await server.refusal('stopJob', ofJob('web', query)), [400, text])
    assert.equal((await server.ok('readJob', ofJob())).Stop, false)
  })

test('global: changes nothing for a job of one region', async () => {
  const server = await aServer({})
  assert.notEqual((await server.ok('stopJob', ofJob('web', { global: true }))).EvalID, '')
})

test('purge: the job is no longer queryable, its evaluation is', async () => {
  const server = await aServer({}, { ID: 'other' })
  const { EvalID, Index } = await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.deepEqual(await server.refusal('readJob', ofJob()), [404, 'job not found'])
  assert.deepEqual(await server.refusal('readJobSummary', ofJob()), [404, 'job not found'])
  assert.deepEqual(
    (await server.ok('listJobs')).map(({ ID }) => ID),
    ['other'],
  )
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
  assert.deepEqual([evaluation.JobID, evaluation.CreateIndex], ['web', Index])
  const { job_versions } = server.context.store.tables
  assert.equal(job_versions.countByIndex('job', namespacedKey('default', 'web')), 0)
})

test('purge: a job that is stopped already can be purged', async () => {
  const server = await aServer({})
  await server.ok('stopJob', ofJob())
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.equal((await server.refusal('readJob', ofJob()))[0], 404)
})

test('namespace: only the job of that one is stopped', async () => {
  const server = await aServer({})
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  await server.ok('registerJob', register({ Namespace: 'other' }))
  await server.ok('stopJob', ofJob('web', { namespace: 'other' }))
  assert.equal((await server.ok('readJob', ofJob())).Stop, false)
  assert.equal((await server.ok('readJob', ofJob('web', { namespace: 'other' }))).Stop, true)
})

// What becomes of the allocations

test('stop: the allocations are told to stop, and the job is dead when they have', async () => {
  const { server, run, settle, report, allocationsOf } = await withScheduler(await aServer())
  await run({ TaskGroups: [aGroup({ Count: 2 })] })
  for (const row of allocationsOf('web')) await report(row, 'running')
  await server.ok('stopJob', ofJob())
  await settle()
  assert.deepEqual(
    allocationsOf('web').map((row) => row.DesiredStatus),
    ['stop', 'stop'],
  )
  assert.equal((await server.ok('readJob', ofJob())).Status, 'dead')
  for (const row of allocationsOf('web')) await report(row, 'complete')
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Status, job.Stop], ['dead', true])
})

test('purge: the allocations are told to stop and keep the version they run', async () => {
  const { server, run, settle, allocationsOf } = await withScheduler(await aServer())
  await run()
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await settle()
  const [row] = allocationsOf('web')
  assert.equal(row?.DesiredStatus, 'stop')
  const read = await server.ok('readAllocation', { params: { alloc_id: row?.ID ?? '' } })
  assert.equal(read.Job?.ID, 'web')
})

test('purge: a job that is registered anew before that places its own', async () => {
  const { server, run, settle, allocationsOf } = await withScheduler(await aServer())
  await run()
  const [old] = allocationsOf('web')
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await server.ok('registerJob', register({ Meta: { new: 'yes' } }))
  await settle()
  const rows = allocationsOf('web')
  assert.equal(rows.find((row) => row.ID === old?.ID)?.DesiredStatus, 'stop')
  assert.deepEqual(
    rows.filter((row) => row.ID !== old?.ID).map((row) => row.DesiredStatus),
    ['run'],
  )
  const listed = async (query = {}) =>
    (await server.ok('listJobAllocations', ofJob('web', query))).length
  assert.deepEqual([await listed(), await listed({ all: true })], [1, 2])
})

test('stop: on a full disk it is accepted once, and stops the allocations in the same commit', async () => {
  const server = await aServer({})
  const { store } = server.context
  const job = store.tables.jobs.find(namespacedKey('default', 'web'))
  assert.ok(job !== undefined)
  const [live, ended] = [anAllocation({ job }), anAllocation({ job, ID: anId('alloc', 2) })]
  const rows = [live, { ...ended, ClientStatus: 'complete' as const }]
  const changes = () => rows.map((row) => put('allocations', row))
  await store.commit({ by: 'system', cause: undefined, changes }).durable
  // As `DiskRecovery` does once the reserve is given up.
  store.abortPending(new Fault('storage-full', 'the disk is full'))
  store.resume('deletes')
  await server.ok('stopJob', ofJob())
  assert.equal((await server.ok('readJob', ofJob())).Stop, true)
  const wanted = ({ ID }: { readonly ID: string }) =>
    store.tables.allocations.find(ID)?.DesiredStatus
  assert.deepEqual([wanted(live), wanted(ended)], ['stop', 'run'])
  for (const refused of [
    await server.send('DELETE', '/v1/job/web'),
    await server.send('POST', '/v1/jobs', { body: register({ ID: 'more' }).body }),
  ])
    assert.equal(refused.status, 503, refused.text)
  await server.ok('stopJob', ofJob('web', { purge: true }))
})

test('stop: what waits for room is given up', async () => {
  const { server, run, settle } = await withScheduler(await aServer(), 0)
  await run()
  const blocked = await server.ok('listEvaluations', { query: { status: 'blocked' } })
  assert.equal(blocked.length, 1)
  await server.ok('stopJob', ofJob())
  await settle()
  assert.deepEqual(await server.ok('listEvaluations', { query: { status: 'blocked' } }), [])
  assert.equal((await server.ok('readJob', ofJob())).Status, 'dead')
})

test('no_shutdown_delay: the allocations say so, as a change by the servers', async () => {
  const { server, run, allocationsOf } = await withScheduler(await aServer())
  await run()
  const [before] = allocationsOf('web')
  const { Index } = await server.ok('stopJob', ofJob('web', { no_shutdown_delay: true }))
  const params = { alloc_id: before?.ID ?? '' }
  const after = await server.ok('readAllocation', { params })
  assert.equal(after.DesiredTransition.NoShutdownDelay, true)
  assert.deepEqual([after.ModifyIndex >= Index, after.AllocModifyIndex >= Index], [true, true])
})

test('no_shutdown_delay: a second stop tells the allocations that wait their delay', async () => {
  const { server, run, settle, allocationsOf } = await withScheduler(await aServer())
  await run()
  await server.ok('stopJob', ofJob())
  await settle()
  const [before] = allocationsOf('web')
  const { Index } = await server.ok('stopJob', ofJob('web', { no_shutdown_delay: true }))
  const [after] = allocationsOf('web')
  assert.equal(before?.DesiredStatus, 'stop')
  assert.equal(after?.DesiredTransition?.NoShutdownDelay, true)
  assert.equal(after?.AllocModifyIndex, Index)
})

test('no_shutdown_delay: unset leaves the allocations as they are', async () => {
  const { server, run, settle, allocationsOf } = await withScheduler(await aServer())
  await run()
  await server.ok('stopJob', ofJob())
  await settle()
  assert.equal(allocationsOf('web')[0]?.DesiredTransition?.NoShutdownDelay ?? null, null)
})

// Who may

const RIGHTS = [
  { capability: 'submit-job', stops: true, purges: true },
  { capability: 'deregister-job', stops: true, purges: false },
  { capability: 'purge-job', stops: true, purges: true },
  { capability: 'register-job', stops: false, purges: false },
  { capability: 'read-job', stops: false, purges: false },
  { capability: 'alloc-lifecycle', stops: false, purges: false },
]

for (const { capability, stops, purges } of RIGHTS)
  test(`stop: ${capability} ${stops ? 'may' : 'may not'} stop and ${purges ? 'may' : 'may not'} purge`, async () => {
    const { server, root, as, client } = await aSecuredServer()
    await server.ok('registerJob', as(root, register()))
    const token = await client(`namespace "default" { capabilities = ["${capability}"] }`)
    for (const [purge, may] of [
      [false, stops],
      [true, purges],
    ] as const) {
      const reply = await server.call('stopJob', as(token, ofJob('web', { purge })))
      assert.deepEqual([reply.status, may ? '' : reply.text], may ? [200, ''] : DENIED)
    }
  })

test('stop: a right in another namespace is none, and tells nothing of what exists', async () => {
  const { server, as, client } = await aSecuredServer()
  const token = await client('namespace "other" { policy = "write" }')
  assert.deepEqual(await server.refusal('stopJob', as(token, ofJob('gone'))), DENIED)
})
