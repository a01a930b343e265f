import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { LIMITS } from '../../src/model/index.ts'
import { namespacedKey, put } from '../../src/state/index.ts'
import { aGroup, anAllocation, aTask } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

/** A server without ACLs: what a registration does is the same for whoever may. */
async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

function count(Count: number): Input<Job> {
  return { TaskGroups: [aGroup({ Count })] }
}

// What it answers and stores

test('register: job, version, evaluation and summary are one commit', async () => {
  const server = await aServer()
  const reply = await server.call('registerJob', register({ Priority: 60 }))
  const { tables } = server.context.store
  const [evaluation] = [...tables.evaluations.rows()]
  assert.deepEqual(reply.body, {
    EvalID: evaluation?.ID,
    EvalCreateIndex: 2,
    JobModifyIndex: 2,
    Warnings: '',
    Index: 2,
    LastContact: 0,
    KnownLeader: true,
    NextToken: '',
  })
  assert.equal(reply.index, 2)
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(
    [
      job.Version,
      job.Status,
      job.Stop,
      job.Stable,
      job.CreateIndex,
      job.ModifyIndex,
      job.JobModifyIndex,
    ],
    [0, 'pending', false, false, 2, 2, 2],
  )
  assert.equal(job.SubmitTime, server.clock.nowMs() * 1_000_000)
  assert.deepEqual(
    [
      evaluation?.TriggeredBy,
      evaluation?.Status,
      evaluation?.Type,
      evaluation?.Priority,
      evaluation?.JobModifyIndex,
    ],
    ['job-register', 'pending', 'service', 60, 2],
  )
  const summary = await server.ok('readJobSummary', ofJob())
  assert.deepEqual([summary.CreateIndex, Object.keys(summary.Summary)], [2, ['app']])
})

test('register: what the job leaves out has its default', async () => {
  const server = await aServer({})
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(
    [
      job.Name,
      job.Type,
      job.Priority,
      job.Region,
      job.Namespace,
      job.NodePool,
      job.Datacenters,
      job.ParentID,
    ],
    ['web', 'service', 50, 'global', 'default', 'default', ['*'], ''],
  )
})

test('register: a new version counts on and keeps the index of creation', async () => {
  const server = await aServer({}, count(2))
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Version, job.CreateIndex, job.JobModifyIndex], [1, 2, 3])
  assert.equal(job.TaskGroups[0]?.Count, 2)
})

test('register: what only servers write is not taken from the job', async () => {
  const server = await aServer()
  const claims: Input<Job> = {
    Status: 'dead',
    StatusDescription: 'x',
    Version: 7,
    Stable: true,
    Stop: true,
    SubmitTime: 1,
    CreateIndex: 9,
    ModifyIndex: 9,
    JobModifyIndex: 9,
    ServiceTokenID: 'me',
    VersionTag: { Name: 't', Description: '', TaggedTime: 0 },
    DiscoveryToken: 'secret',
    SecretStoreToken: 'secret',
  }
  await server.ok('registerJob', register(claims))
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(
    [job.Status, job.StatusDescription, job.Version, job.Stable, job.Stop, job.VersionTag],
    ['pending', '', 0, false, false, null],
  )
  assert.deepEqual([job.CreateIndex, job.ModifyIndex, job.JobModifyIndex], [2, 2, 2])
  assert.deepEqual([job.ServiceTokenID, job.DiscoveryToken, job.SecretStoreToken], ['', '', ''])
  assert.notEqual(job.SubmitTime, 1)
})

test('register: a job that was read is the same job when it is sent back', async () => {
  const server = await aServer({ Meta: { a: 'b' } })
  const job = await server.ok('readJob', ofJob())
  await server.ok('registerJob', { body: { Job: job } })
  assert.equal((await server.ok('readJob', ofJob())).Version, 0)
})

test('register: an unchanged job gets an evaluation but no new version', async () => {
  const server = await aServer({})
  const before = await server.ok('readJob', ofJob())
  const reply = await server.ok('registerJob', register())
  assert.deepEqual([reply.Index, reply.EvalCreateIndex, reply.JobModifyIndex], [3, 3, 2])
  assert.notEqual(reply.EvalID, '')
  const after = await server.ok('readJob', ofJob())
  assert.deepEqual([after.Version, after.JobModifyIndex], [before.Version, before.JobModifyIndex])
  assert.equal((await server.ok('listJobEvaluations', ofJob())).length, 2)
})

test('register: another submitter does not make a new version', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('registerJob', as(root, register()))
  const writer = await client('namespace "default" { policy = "write" }')
  await server.ok('registerJob', as(writer, register()))
  const job = await server.ok('readJob', as(root, ofJob()))
  assert.deepEqual([job.Version, job.ServiceTokenID], [0, root.AccessorID])
})

for (const [name, job] of [
  ['periodic', PERIODIC],
  ['parameterized', PARAMETERIZED],
] as const)
  test(`register: a ${name} job waits for its launch and gets no evaluation`, async () => {
    const server = await aServer()
    const first = await server.ok('registerJob', register(job))
    assert.deepEqual(
      [first.EvalID, first.EvalCreateIndex, first.Index, first.JobModifyIndex],
      ['', 0, 2, 2],
    )
    assert.equal((await server.ok('readJob', ofJob())).Status, 'running')
    await server.ok('registerJob', register({ ID: 'other' }))
    const again = await server.ok('registerJob', register(job))
    assert.deepEqual(
      [again.EvalID, again.EvalCreateIndex, again.Index, again.JobModifyIndex],
      ['', 0, 2, 2],
    )
    assert.equal(server.context.store.index, 3)
  })

test('register: re-registering a stopped job makes a new version that runs', async () => {
  const server = await aServer({})
  await server.ok('stopJob', ofJob())
  await server.ok('registerJob', register())
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Version, job.Stop, job.CreateIndex], [2, false, 2])
})

test('register: the caller of the job is remembered', async () => {
  const { server, root, as } = await aSecuredServer()
  await server.ok('registerJob', as(root, register()))
  assert.equal((await server.ok('readJob', as(root, ofJob()))).ServiceTokenID, root.AccessorID)
  const open = 'namespace "default" { policy = "write" }'
  await server.ok(
    'writeAclPolicy',
    as(root, { params: { policy_name: 'anonymous' }, body: { Name: 'anonymous', Rules: open } }),
  )
  await server.ok('registerJob', register({ ID: 'other' }))
  assert.equal((await server.ok('readJob', ofJob('other'))).ServiceTokenID, 'anonymous')
})

test('update: the same, with the id in the path', async () => {
  const server = await aServer()
  const call = { ...register(), ...ofJob() }
  const reply = await server.ok('updateJob', call)
  assert.deepEqual(
    [reply.Index, reply.EvalCreateIndex, reply.JobModifyIndex, reply.Warnings],
    [2, 2, 2, ''],
  )
  await server.ok('updateJob', { ...register(count(2)), ...ofJob() })
  assert.equal((await server.ok('readJob', ofJob())).Version, 1)
})

// History

function versions({ context }: TestServer): readonly number[] {
  return context.store.tables.job_versions
    .rowsByIndex('job', namespacedKey('default', 'web'))
    .map((row) => row.Version)
}

test(`register: the latest ${LIMITS.jobVersionsMax} versions are kept`, async () => {
  const server = await aServer(...[1, 2, 3, 4, 5, 6, 7, 8].map(count))
  assert.deepEqual(versions(server), [2, 3, 4, 5, 6, 7])
})

test('register: a version that an allocation runs is kept longer', async () => {
  const server = await aServer(count(1))
  const job = await server.ok('readJob', ofJob())
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('allocations', anAllocation({ job }))],
  })
  for (let i = 2; i <= 8; i++) await server.ok('registerJob', register(count(i)))
  assert.deepEqual(versions(server), [0, 2, 3, 4, 5, 6, 7])
})

test('register: a purged job begins at version 0 again', async () => {
  const server = await aServer(count(1), count(2))
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await server.ok('registerJob', register())
  assert.deepEqual(versions(server), [0])
})

test('register: it never writes over a version that an allocation of a purged job still runs', async () => {
  const server = await aServer(count(1))
  const job = await server.ok('readJob', ofJob())
  const allocation = anAllocation({ job })
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('allocations', allocation)],
  })
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await server.ok('registerJob', register(count(5)))
  const read = await server.ok('readAllocation', { params: { alloc_id: allocation.ID } })
  assert.equal(read.Job?.TaskGroups[0]?.Count, 1)
  assert.deepEqual(versions(server), [0, 1])
})

// Which namespace and region

const NAMESPACES = [
  { name: 'the default one', query: '', body: undefined, job: undefined, wanted: 'default' },
  { name: 'that of the job', query: '', body: undefined, job: 'three', wanted: 'three' },
  { name: 'that of the body', query: '', body: 'two', job: 'three', wanted: 'two' },
  { name: 'that of the query', query: 'one', body: 'two', job: 'three', wanted: 'one' },
]

for (const { name, query, body, job, wanted } of NAMESPACES)
  test(`register: the namespace is ${name}, and overwrites that of the job`, async () => {
    const server = await aServer()
    for (const Name of ['one', 'two', 'three'])
      await server.ok('writeNamespace', { body: { Name } })
    const call = register(job === undefined ? {} : { Namespace: job }, { Namespace: body })
    await server.ok('registerJob', { ...call, query: { namespace: query } })
    const read = await server.ok('readJob', ofJob('web', { namespace: wanted }))
    assert.equal(read.Namespace, wanted)
  })

test('register: a namespace that does not exist is refused', async () => {
  const server = await aServer()
  const call = { ...register(), query: { namespace: 'gone' } }
  assert.deepEqual(await server.refusal('registerJob', call), [
    400,
    'job "web" is in nonexistent namespace "gone"',
  ])
})

test('register: the same id in two namespaces is two jobs', async () => {
  const server = await aServer(count(1))
  await server.ok('writeNamespace', { body: { Name: 'other' } })
  await server.ok('registerJob', register({ ...count(2), Namespace: 'other' }))
  const read = async (namespace: string) => await server.ok('readJob', ofJob('web', { namespace }))
  assert.deepEqual(
    [(await read('default')).TaskGroups[0]?.Count, (await read('other')).TaskGroups[0]?.Count],
    [1, 2],
  )
})

test('register: a namespace gives its node pool to jobs that name none', async () => {
  const server = await aServer()
  await server.ok('writeNodePool', { body: { Name: 'fast' } })
  await server.ok('writeNamespace', {
    body: { Name: 'gpu', NodePoolConfiguration: { Default: 'fast' } },
  })
  await server.ok('registerJob', register({ Namespace: 'gpu' }))
  assert.equal((await server.ok('readJob', ofJob('web', { namespace: 'gpu' }))).NodePool, 'fast')
})

test('register: a region that nobody knows is refused, in the job and in the body', async () => {
  const server = await aServer()
  const wanted = [404, 'No path to region']
  for (const call of [register({ Region: 'mars' }), register({}, { Region: 'mars' })]) {
    const reply = await server.send('POST', '/v1/jobs', call)
    assert.deepEqual([reply.status, reply.text], wanted)
  }
  assert.equal(server.context.store.index, 1)
})

test('register: the region is that of the server, whichever way it is named', async () => {
  const server = await createTestServer({ aclEnabled: false, region: 'europe' })
  for (const Region of [undefined, '', 'global', 'europe']) {
    await server.ok('registerJob', register(Region === undefined ? {} : { Region }))
    assert.equal((await server.ok('readJob', ofJob())).Region, 'europe')
  }
  assert.equal((await server.ok('readJob', ofJob())).Version, 0)
})

// EvalPriority, PreserveCounts, warnings

test('EvalPriority: is the priority of the evaluation and leaves the job alone', async () => {
  for (const [given, wanted] of [
    [0, 50],
    [1, 1],
    [100, 100],
  ] as const) {
    const server = await aServer()
    await server.ok('registerJob', register({}, { EvalPriority: given }))
    const [evaluation] = await server.ok('listJobEvaluations', ofJob())
    assert.equal(evaluation?.Priority, wanted)
    assert.equal((await server.ok('readJob', ofJob())).Priority, 50)
  }
})

const COUNTS = [
  { name: 'keeps the counts of groups that exist', preserve: true, wanted: { a: 3, b: 2 } },
  { name: 'unset takes those of the new version', preserve: false, wanted: { a: 1, b: 2 } },
]

for (const { name, preserve, wanted } of COUNTS)
  test(`PreserveCounts: ${name}`, async () => {
    const server = await aServer({ TaskGroups: [aGroup({ Name: 'a', Count: 3 })] })
    const TaskGroups = [aGroup({ Name: 'a', Count: 1 }), aGroup({ Name: 'b', Count: 2 })]
    await server.ok('registerJob', register({ TaskGroups }, { PreserveCounts: preserve }))
    const job = await server.ok('readJob', ofJob())
    assert.deepEqual(
      Object.fromEntries(job.TaskGroups.map((group) => [group.Name, group.Count])),
      wanted,
    )
  })

test('PreserveResources: tasks that exist keep their resources, and only those', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const group = (CPU: number, names: readonly string[]) => ({
    TaskGroups: [
      {
        Name: 'app',
        Count: CPU,
        Tasks: names.map((Name) => ({
          Name,
          Driver: 'docker',
          Config: { image: 'a' },
          Resources: { CPU, MemoryMB: CPU },
        })),
      },
    ],
  })
  await server.ok('registerJob', register(group(100, ['one'])))
  const again = register(group(300, ['one', 'two']), { PreserveResources: true })
  await server.ok('registerJob', again)
  const job = await server.ok('readJob', { params: { job_id: 'web' } })
  const [app] = job.TaskGroups
  assert.deepEqual(
    app?.Tasks.map(({ Name, Resources }) => [Name, Resources.CPU]),
    [
      ['one', 100],
      ['two', 300],
    ],
  )
  assert.equal(app?.Count, 300)
})

test('PreserveCounts: a first registration has nothing to keep', async () => {
  const server = await aServer()
  await server.ok('registerJob', register(count(4), { PreserveCounts: true }))
  assert.equal((await server.ok('readJob', ofJob())).TaskGroups[0]?.Count, 4)
})

test('warnings: what is accepted but hardly meant is told', async () => {
  const server = await aServer()
  const one = await server.ok(
    'registerJob',
    register({ TaskGroups: [aGroup({ Count: 2, Update: { MaxParallel: 3 } })] }),
  )
  assert.match(one.Warnings, /^1 warning:\n\n\* Group "app": Update max parallel count is greater/)
  const tasks = [aTask({ Resources: { IOPS: 1 } })]
  const two = await server.ok(
    'registerJob',
    register({ TaskGroups: [aGroup({ tasks, Count: 2, Update: { MaxParallel: 3 } })] }),
  )
  assert.match(two.Warnings, /^2 warnings:\n\n\* Group .*\n\* Group "app": Task "main": IOPS/)
})
