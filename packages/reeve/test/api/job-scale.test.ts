import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment, Input, Job } from '@reeve/contract'
import { namespacedKey, put } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { aGroup, anAllocation, anId } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register } from './cluster.ts'
import { disableRegistration } from './disable-registration.ts'
import { createTestServer, untilParked, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const START_NS = 1_767_225_600e9

async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

/** A call that scales the group of the smallest job to two. */
function scaleTo(fields: object = {}, query: NonNullable<CallOptions['query']> = {}): CallOptions {
  return { ...ofJob('web', query), body: { ...WANTED, ...fields } }
}
const WANTED = { Count: 2, Target: { Group: 'app' }, Message: 'more' }

test('scale: is a new version with the count, and an evaluation', async () => {
  const server = await aServer({ Priority: 40 })
  const reply = await server.call('scaleJob', scaleTo())
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(
    [job.TaskGroups[0]?.Count, job.Version, job.JobModifyIndex, job.CreateIndex],
    [2, 1, 3, 2],
  )
  const evaluations = await server.ok('listJobEvaluations', ofJob())
  const evaluation = evaluations.find((one) => one.TriggeredBy === 'job-scaling')
  assert.deepEqual(reply.body, {
    EvalID: evaluation?.ID,
    EvalCreateIndex: 3,
    JobModifyIndex: 3,
    Warnings: '',
    Index: 3,
    LastContact: 0,
    KnownLeader: true,
    NextToken: '',
  })
  assert.equal(reply.index, 3)
  assert.deepEqual(
    [evaluation?.Priority, evaluation?.JobModifyIndex, evaluation?.Status],
    [40, 3, 'pending'],
  )
})

test('scale: the event says what was done, by whom and why', async () => {
  const server = await aServer({})
  const Meta = { load: 0.9, nested: { a: [1] } }
  const { EvalID } = await server.ok('scaleJob', scaleTo({ Meta }))
  const status = await server.ok('readJobScale', ofJob())
  assert.deepEqual(status, {
    JobID: 'web',
    Namespace: 'default',
    JobCreateIndex: 2,
    JobModifyIndex: 3,
    JobStopped: false,
    TaskGroups: {
      app: {
        Desired: 2,
        Placed: 0,
        Running: 0,
        Healthy: 0,
        Unhealthy: 0,
        Events: [
          {
            Time: START_NS,
            Count: 2,
            PreviousCount: 1,
            Message: 'more',
            Error: false,
            Meta,
            EvalID,
            CreateIndex: 3,
          },
        ],
      },
    },
  })
})

test('scale: to the count it has is an evaluation and an event, and no version', async () => {
  const server = await aServer({})
  const body = await server.ok('scaleJob', scaleTo({ Count: 1 }))
  const job = await server.ok('readJob', ofJob())
  assert.equal(job.Version, 0)
  assert.notEqual(body.EvalID, undefined)
  assert.deepEqual([body.EvalCreateIndex, body.JobModifyIndex], [3, job.JobModifyIndex])
})

for (const [name, fields] of [
  ['to the count it has', { Count: 1 }],
  ['without a count', { Count: undefined }],
] as const)
  test(`scale: ${name} answers with the index that check-and-set takes`, async () => {
    const server = await aServer({})
    const { store } = server.context
    const row = store.tables.jobs.get(namespacedKey('default', 'web'))
    // As a status does that changes: the specification stays.
    const started = put('jobs', { ...row, Status: 'running' })
    await store.commit({ by: 'system', cause: undefined, changes: () => [started] }).durable
    const { JobModifyIndex } = await server.ok('scaleJob', scaleTo(fields))
    assert.notEqual(store.tables.jobs.get(namespacedKey('default', 'web')).ModifyIndex, 2)
    assert.equal(JobModifyIndex, 2)
    await server.ok('scaleJob', scaleTo({ JobModifyIndex }))
  })

const errors: readonly { Error: unknown; Message?: string; want: string }[] = [
  { Error: true, want: '' },
  { Error: true, Message: 'why', want: 'why' },
  { Error: 'no room', want: 'no room' },
  { Error: 'no room', Message: 'why', want: 'why' },
]
for (const { Error, Message, want } of errors)
  test(`scale: ${JSON.stringify({ Error, Message })} records an event and nothing else`, async () => {
    const server = await aServer({})
    const body = { Target: { Group: 'app' }, Error, ...(Message === undefined ? {} : { Message }) }
    const reply = await server.call('scaleJob', { ...ofJob(), body })
    assert.deepEqual(reply.body, {
      JobModifyIndex: 2,
      Warnings: '',
      Index: 3,
      LastContact: 0,
      KnownLeader: true,
      NextToken: '',
    })
    const { TaskGroups } = await server.ok('readJobScale', ofJob())
    const [event] = TaskGroups['app']?.Events ?? []
    assert.deepEqual(
      [event?.Error, event?.Message, event?.Count, event?.PreviousCount, event?.EvalID],
      [true, want, null, 1, null],
    )
    assert.equal((await server.ok('listJobEvaluations', ofJob())).length, 1)
  })

for (const [name, job] of [
  ['periodic', PERIODIC],
  ['parameterized', PARAMETERIZED],
] as const)
  test(`scale: a ${name} job gets the count and no evaluation`, async () => {
    const server = await aServer(job)
    const body = await server.ok('scaleJob', scaleTo())
    assert.deepEqual(
      [body.EvalID, body.EvalCreateIndex, body.JobModifyIndex],
      [undefined, undefined, 3],
    )
    assert.equal((await server.ok('readJob', ofJob())).TaskGroups[0]?.Count, 2)
  })

test('scale: twenty events are kept, the newest first, also over a stop', async () => {
  const server = await aServer({})
  for (let i = 1; i <= 22; i++) await server.ok('scaleJob', scaleTo({ Count: i, Message: `${i}` }))
  await server.ok('stopJob', ofJob())
  const { TaskGroups, JobStopped } = await server.ok('readJobScale', ofJob())
  const events = TaskGroups['app']?.Events ?? []
  assert.equal(JobStopped, true)
  assert.deepEqual([events.length, events[0]?.Message, events.at(-1)?.Message], [20, '22', '3'])
})

test('scale: the events survive a restart', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  await before.ok('registerJob', register())
  await before.ok('scaleJob', scaleTo())
  const status = await before.ok('readJobScale', ofJob())
  await before.close()
  const server = await createTestServer({ aclEnabled: false, disk })
  assert.deepEqual(await server.ok('readJobScale', ofJob()), status)
})

test('scale: a purge takes the events with it', async () => {
  const server = await aServer({})
  await server.ok('scaleJob', scaleTo())
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.equal(server.context.store.tables.scaling_events.size, 0)
  await server.ok('registerJob', register())
  const { TaskGroups } = await server.ok('readJobScale', ofJob())
  assert.equal(TaskGroups['app']?.Events, null)
})

const refusals: readonly {
  name: string
  job?: Input<Job>
  call: CallOptions
  want: readonly [number, string]
}[] = [
  {
    name: 'another job',
    call: scaleTo({ Target: { Group: 'app', Job: 'other' } }),
    want: [400, 'job ID in payload did not match URL'],
  },
  {
    name: 'another namespace',
    call: scaleTo({ Target: { Group: 'app', Namespace: 'other' } }),
    want: [400, 'namespace in payload did not match header'],
  },
  {
    name: 'no group',
    call: scaleTo({ Target: {} }),
    want: [400, 'missing task group name for scaling action'],
  },
  { name: 'no body', call: ofJob(), want: [400, 'Request body is empty'] },
  {
    name: 'a negative count',
    call: scaleTo({ Count: -1 }),
    want: [400, "scaling action count can't be negative"],
  },
  {
    name: 'a count with an error',
    call: scaleTo({ Error: true }),
    want: [400, 'scaling action should not contain count if error is true'],
  },
  {
    name: 'a count that is no count',
    call: scaleTo({ Count: 1e18 }),
    want: [400, 'new scaling count is too large for TaskGroup.Count (int): 1000000000000000000'],
  },
  {
    name: 'neither message nor error',
    call: scaleTo({ Message: '' }),
    want: [
      400,
      'scaling action needs a message or an error: one of Message or Error must be provided',
    ],
  },
  {
    name: 'an unknown job',
    call: { ...ofJob('gone'), body: WANTED },
    want: [404, 'job "gone" not found'],
  },
  {
    name: 'an unknown group',
    call: scaleTo({ Target: { Group: 'db' } }),
    want: [400, 'task group "db" specified for scaling does not exist in job'],
  },
  {
    name: 'an event of an unknown group',
    call: scaleTo({ Count: undefined, Target: { Group: 'db' } }),
    want: [400, 'task group "db" specified for scaling does not exist in job'],
  },
  {
    name: 'less than the policy allows',
    job: { TaskGroups: [aGroup({ Count: 3, Scaling: { Min: 3, Max: 5 } })] },
    call: scaleTo(),
    want: [400, 'group count was less than scaling policy minimum: 2 < 3'],
  },
  {
    name: 'more than the policy allows',
    job: { TaskGroups: [aGroup({ Scaling: { Min: 0, Max: 1 } })] },
    call: scaleTo(),
    want: [400, 'group count was greater than scaling policy maximum: 2 > 1'],
  },
  {
    name: 'more than a job may have',
    call: scaleTo({ Count: 50_001 }),
    want: [400, 'total count was greater than configured job_max_count: 50001 > 50000'],
  },
  {
    name: 'another index',
    call: scaleTo({ JobModifyIndex: 7 }),
    want: [409, 'Enforcing job modify index 7: job exists with conflicting job modify index: 2'],
  },
  {
    name: 'two of a system job',
    job: { Type: 'system' },
    call: scaleTo(),
    want: [400, 'jobs of type "system" can only be scaled between 0 and 1'],
  },
]
for (const { name, job = {}, call, want } of refusals)
  test(`scale: ${name} is refused, and nothing is written`, async () => {
    const server = await aServer(job)
    const before = server.context.store.index
    assert.deepEqual(await server.refusal('scaleJob', call), want)
    assert.equal(server.context.store.index, before)
  })

test('scale: the index of the job is in order, and of many with it one wins', async () => {
  const server = await aServer({})
  const calls = Array.from({ length: 50 }, (_, i) =>
    server.call('scaleJob', scaleTo({ Count: i + 2, JobModifyIndex: 2 })),
  )
  const statuses = (await Promise.all(calls)).map((reply) => reply.status)
  assert.equal(statuses.filter((status) => status === 200).length, 1)
  assert.equal(statuses.filter((status) => status === 409).length, 49)
})

/** A deployment of the job, as far as scaling looks at it. */
async function deploy(server: TestServer, fields: Partial<Deployment>): Promise<void> {
  const job = server.context.store.tables.jobs.get(namespacedKey('default', 'web'))
  const row: Deployment = {
    ID: anId('any', 1),
    Namespace: 'default',
    JobID: 'web',
    JobVersion: 0,
    JobModifyIndex: job.JobModifyIndex,
    JobSpecModifyIndex: job.JobModifyIndex,
    JobCreateIndex: job.CreateIndex,
    IsMultiregion: false,
    TaskGroups: {},
    Status: 'running',
    StatusDescription: '',
    EvalPriority: 50,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: 0,
    ModifyTime: 0,
    ...fields,
  }
  await server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('deployments', row)],
  }).durable
}

test('scale: is refused while a deployment of the job is active; an event is not', async () => {
  const server = await aServer({})
  await deploy(server, {})
  assert.deepEqual(await server.refusal('scaleJob', scaleTo()), [
    400,
    'job scaling blocked due to active deployment',
  ])
  await server.ok('scaleJob', scaleTo({ Count: undefined, Error: true }))
})

for (const fields of [{ Status: 'successful' }, { JobCreateIndex: 1 }] as const)
  test(`scale: a deployment with ${JSON.stringify(fields)} is in nobody's way`, async () => {
    const server = await aServer({})
    await deploy(server, fields)
    await server.ok('scaleJob', scaleTo())
  })

// Status

test('scale status: an unknown job is not found', async () => {
  const server = await aServer()
  assert.deepEqual(await server.refusal('readJobScale', ofJob('gone')), [404, 'job not found'])
})

test('scale status: counts the allocations', async () => {
  const server = await aServer({ TaskGroups: [aGroup({ Count: 3 })] })
  const { store } = server.context
  const job = store.tables.jobs.get(namespacedKey('default', 'web'))
  const rows = [
    anAllocation({ job, index: 1, ClientStatus: 'running' }),
    anAllocation({ job, index: 2, ClientStatus: 'pending' }),
    anAllocation({ job, index: 3, ClientStatus: 'failed' }),
  ]
  const { durable } = store.commit({
    by: 'system',
    cause: undefined,
    changes: () => rows.map((row) => put('allocations', row)),
  })
  await durable
  const { TaskGroups } = await server.ok('readJobScale', ofJob())
  assert.deepEqual(TaskGroups, {
    app: { Desired: 3, Placed: 2, Running: 1, Healthy: 0, Unhealthy: 0, Events: null },
  })
})

test('scale status: a blocking query wakes for an event, and for an allocation that ends', async () => {
  const server = await aServer({})
  const { store } = server.context
  const first = await server.call('readJobScale', ofJob())
  assert.equal(first.index, 2)
  const parked = server.call('readJobScale', ofJob('web', { index: 2 }))
  await untilParked()
  await server.ok('scaleJob', scaleTo({ Count: undefined, Error: 'no' }))
  assert.equal((await parked).index, 3)
  const job = store.tables.jobs.get(namespacedKey('default', 'web'))
  const row = anAllocation({ job })
  const write = (fields: object) =>
    store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [put('allocations', { ...row, ...fields })],
    })
  await write({}).durable
  const waiting = server.call('readJobScale', ofJob('web', { index: 4 }))
  await untilParked()
  write({ ClientStatus: 'complete' })
  assert.equal((await waiting).index, 5)
})

test('scale: is refused while registration is disabled, but for management', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('registerJob', as(root, register()))
  await disableRegistration(server)
  const caller = await client('namespace "default" { policy = "write" }')
  assert.deepEqual(await server.refusal('scaleJob', as(caller, scaleTo())), [
    403,
    'Job registration, dispatch, and scale are disabled by the scheduler configuration',
  ])
  await server.ok('scaleJob', as(root, scaleTo()))
})

test('scale: PolicyOverride needs its own capability', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('registerJob', as(root, register()))
  const scaler = await client('namespace "default" { capabilities = ["scale-job"] }')
  await server.ok('scaleJob', as(scaler, scaleTo()))
  const call = scaleTo({ Count: 3, PolicyOverride: true })
  assert.deepEqual(await server.refusal('scaleJob', as(scaler, call)), [403, 'Permission denied'])
  const rules = 'namespace "default" { capabilities = ["scale-job", "policy-override"] }'
  await server.ok('scaleJob', as(await client(rules), call))
})
