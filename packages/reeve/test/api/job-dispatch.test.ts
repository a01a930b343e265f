import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, JobDispatchResponse } from '@reeve/contract'
import { MemoryDisk } from '../../src/storage/index.ts'
import { aGroup } from '../build/index.ts'
import { ofJob, PARAMETERIZED, register } from './cluster.ts'
import { disableRegistration } from './disable-registration.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

/** 2026-01-01, when the test clock starts. */
const START_SECONDS = 1_767_225_600

async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

function dispatchOf(body: object = {}, query: NonNullable<CallOptions['query']> = {}): CallOptions {
  return { ...ofJob('web', query), body }
}

async function read(server: TestServer, jobId: string): Promise<Job> {
  return server.ok('readJob', ofJob(jobId))
}

test('dispatch: makes a child and its evaluation', async () => {
  const server = await aServer({ ...PARAMETERIZED, Priority: 30 })
  const reply = await server.call('dispatchJob', dispatchOf())
  assert.equal(reply.status, 200)
  // checked against the contract by the harness
  const body = reply.body as JobDispatchResponse
  assert.match(body.DispatchedJobID, new RegExp(`^web/dispatch-${START_SECONDS}-[0-9a-f]{8}$`))
  assert.deepEqual(
    [body.JobCreateIndex, body.EvalCreateIndex, body.Index, reply.index],
    [3, 3, 3, 3],
  )
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: body.EvalID } })
  assert.deepEqual(
    [evaluation.JobID, evaluation.TriggeredBy, evaluation.Priority, evaluation.Type],
    [body.DispatchedJobID, 'job-register', 30, 'batch'],
  )
})

test('dispatch: the child is the parent with what the dispatch brought', async () => {
  const server = await aServer({
    ...PARAMETERIZED,
    Meta: { from: 'us', to: 'all' },
    ParameterizedJob: { Payload: 'required', MetaRequired: ['to'], MetaOptional: ['cc'] },
  })
  const { DispatchedJobID: id } = await server.ok(
    'dispatchJob',
    dispatchOf({ Payload: 'aGVsbG8=', Meta: { to: 'me' }, Priority: 80, IdPrefixTemplate: 'eu' }),
  )
  const child = await read(server, id)
  assert.match(id, /^web\/dispatch-eu-\d+-[0-9a-f]{8}$/)
  assert.deepEqual(
    [child.Name, child.ParentID, child.Dispatched, child.Status, child.Version, child.Stop],
    [id, 'web', true, 'pending', 0, false],
  )
  assert.deepEqual(
    [child.Payload, child.Meta, child.Priority],
    ['aGVsbG8=', { from: 'us', to: 'me' }, 80],
  )
  assert.deepEqual([child.CreateIndex, child.JobModifyIndex, child.ModifyIndex], [3, 3, 3])
  assert.equal(child.SubmitTime, START_SECONDS * 1e9)
})

test('dispatch: the parent is listed as parameterized, the child is not', async () => {
  const server = await aServer(PARAMETERIZED)
  const { DispatchedJobID } = await server.ok('dispatchJob', dispatchOf())
  const jobs = await server.ok('listJobs')
  assert.deepEqual(
    jobs.map(({ ID, ParameterizedJob }) => [ID, ParameterizedJob]),
    [
      ['web', true],
      [DispatchedJobID, false],
    ],
  )
})

test('dispatch: an empty body is a dispatch without anything', async () => {
  const server = await aServer(PARAMETERIZED)
  const { DispatchedJobID } = await server.ok('dispatchJob', ofJob())
  const child = await read(server, DispatchedJobID)
  assert.deepEqual([child.Payload, child.Meta], [null, null])
})

test('dispatch: the parent counts its children, also one that is purged', async () => {
  const server = await aServer(PARAMETERIZED)
  const first = await server.ok('dispatchJob', dispatchOf())
  await server.ok('dispatchJob', dispatchOf())
  const children = async () => (await server.ok('readJobSummary', ofJob())).Children
  assert.deepEqual(await children(), { Pending: 2, Running: 0, Dead: 0 })
  await server.ok('stopJob', ofJob(first.DispatchedJobID, { purge: true }))
  assert.deepEqual(await children(), { Pending: 1, Running: 0, Dead: 1 })
  assert.equal((await read(server, 'web')).Status, 'running')
})

test('dispatch: children outlive a parent that is purged, and count when it comes back', async () => {
  const server = await aServer(PARAMETERIZED)
  const { DispatchedJobID } = await server.ok('dispatchJob', dispatchOf())
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.equal((await read(server, DispatchedJobID)).Stop, false)
  await server.ok('registerJob', register(PARAMETERIZED))
  const { Children } = await server.ok('readJobSummary', ofJob())
  assert.deepEqual(Children, { Pending: 1, Running: 0, Dead: 0 })
})

test('dispatch: stopping a child makes an evaluation, like any job that runs', async () => {
  const server = await aServer(PARAMETERIZED)
  const { DispatchedJobID } = await server.ok('dispatchJob', dispatchOf())
  assert.notEqual((await server.ok('stopJob', ofJob(DispatchedJobID))).EvalID, '')
})

test('dispatch: of a periodic job gives a child that waits for its launches', async () => {
  const server = await aServer({ ...PARAMETERIZED, Periodic: { Spec: '@hourly' } })
  const dispatched = await server.ok('dispatchJob', dispatchOf())
  assert.deepEqual([dispatched.EvalID, dispatched.EvalCreateIndex], ['', 0])
  const child = await read(server, dispatched.DispatchedJobID)
  assert.deepEqual([child.Status, child.Periodic?.Spec], ['running', '@hourly'])
  const forced = await server.ok('forcePeriodicJob', ofJob(child.ID))
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: forced.EvalID } })
  assert.equal(evaluation.JobID, `${child.ID}/periodic-${START_SECONDS}`)
})

// Idempotency

test('idempotency: the same token gives the same child, without an evaluation', async () => {
  const server = await aServer(PARAMETERIZED)
  const first = await server.ok('dispatchJob', dispatchOf({}, { idempotency_token: 'a' }))
  const again = await server.call('dispatchJob', dispatchOf({}, { idempotency_token: 'a' }))
  assert.deepEqual(again.body, {
    DispatchedJobID: first.DispatchedJobID,
    EvalID: '',
    EvalCreateIndex: 0,
    JobCreateIndex: 3,
    Index: 3,
  })
  assert.equal(again.index, 3)
  assert.equal((await read(server, first.DispatchedJobID)).DispatchIdempotencyToken, 'a')
})

test('idempotency: another token, another parent and no token are other children', async () => {
  const server = await aServer(PARAMETERIZED, { ...PARAMETERIZED, ID: 'other' })
  const ids = new Set<string>()
  for (const call of [
    dispatchOf({}, { idempotency_token: 'a' }),
    dispatchOf({}, { idempotency_token: 'b' }),
    dispatchOf(),
    dispatchOf(),
    ofJob('other', { idempotency_token: 'a' }),
  ])
    ids.add((await server.ok('dispatchJob', call)).DispatchedJobID)
  assert.equal(ids.size, 5)
})

test('idempotency: of many at once with one token, one makes a child', async () => {
  const server = await aServer(PARAMETERIZED)
  const calls = Array.from({ length: 200 }, () =>
    server.ok('dispatchJob', dispatchOf({}, { idempotency_token: 'once' })),
  )
  const bodies = await Promise.all(calls)
  assert.equal(new Set(bodies.map((body) => body.DispatchedJobID)).size, 1)
  assert.equal(bodies.filter((body) => body.EvalID !== '').length, 1)
  assert.equal(server.context.store.tables.jobs.size, 2)
})

test('idempotency: holds after a restart, and ends when the child is purged', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  await before.ok('registerJob', register(PARAMETERIZED))
  const call = dispatchOf({}, { idempotency_token: 'a' })
  const first = await before.ok('dispatchJob', call)
  await before.close()
  const server = await createTestServer({ aclEnabled: false, disk })
  assert.equal((await server.ok('dispatchJob', call)).DispatchedJobID, first.DispatchedJobID)
  await server.ok('stopJob', ofJob(first.DispatchedJobID, { purge: true }))
  assert.notEqual((await server.ok('dispatchJob', call)).DispatchedJobID, first.DispatchedJobID)
})

// Payload as it is

test('dispatch payload: the body is the payload, byte for byte', async () => {
  const server = await aServer(PARAMETERIZED)
  const bytes = Buffer.from([0, 255, 10, 123, 34, 200])
  const call = { ...ofJob(), body: bytes }
  const { DispatchedJobID } = await server.ok('dispatchJobPayload', call)
  assert.equal((await read(server, DispatchedJobID)).Payload, bytes.toString('base64'))
})

test('dispatch payload: an empty one is none, a long one is refused, a token counts', async () => {
  const server = await aServer({ ...PARAMETERIZED, ParameterizedJob: { Payload: 'required' } })
  const missing = 'Payload is not provided but required by parameterized job'
  assert.deepEqual(await server.refusal('dispatchJobPayload', ofJob()), [400, missing])
  const long = { ...ofJob(), body: Buffer.alloc(16_385) }
  assert.deepEqual(await server.refusal('dispatchJobPayload', long), [
    400,
    'Payload exceeds maximum size; 16385 > 16384',
  ])
  const call = { ...ofJob('web', { idempotency_token: 'a' }), body: Buffer.alloc(16_384) }
  const first = await server.ok('dispatchJobPayload', call)
  const again = await server.ok('dispatchJobPayload', call)
  assert.equal(again.DispatchedJobID, first.DispatchedJobID)
})

// Refusals

const refusals: readonly {
  name: string
  job?: Input<Job>
  call?: CallOptions
  want: readonly [number, string]
}[] = [
  {
    name: 'a body that names another job',
    call: dispatchOf({ JobID: 'other' }),
    want: [400, 'Job ID does not match'],
  },
  {
    name: 'an unknown job',
    call: { ...ofJob('gone'), body: {} },
    want: [404, 'parameterized job not found'],
  },
  {
    name: 'a job of another namespace',
    call: dispatchOf({}, { namespace: 'other' }),
    want: [404, 'parameterized job not found'],
  },
  {
    name: 'a job that is not parameterized',
    job: {},
    want: [400, 'Specified job "web" is not a parameterized job'],
  },
  {
    name: 'a payload that is required and missing',
    job: { ParameterizedJob: { Payload: 'required' } },
    want: [400, 'Payload is not provided but required by parameterized job'],
  },
  {
    name: 'a payload that is forbidden',
    job: { ParameterizedJob: { Payload: 'forbidden' } },
    call: dispatchOf({ Payload: 'YQ==' }),
    want: [400, 'Payload provided but forbidden by parameterized job'],
  },
  {
    name: 'a payload that is too long',
    call: dispatchOf({ Payload: Buffer.alloc(16_385).toString('base64') }),
    want: [400, 'Payload exceeds maximum size; 16385 > 16384'],
  },
  {
    name: 'a payload that is no base64',
    call: dispatchOf({ Payload: 'a b' }),
    want: [400, 'illegal base64 data at input byte 1'],
  },
  {
    name: 'metadata that the job does not know',
    job: { ParameterizedJob: { MetaOptional: ['a'] } },
    call: dispatchOf({ Meta: { z: '', a: '', k: '' } }),
    want: [400, 'Dispatch request included unpermitted metadata keys: [k z]'],
  },
  {
    name: 'metadata that is missing',
    job: { ParameterizedJob: { MetaRequired: ['b', 'a'] } },
    want: [400, 'Dispatch did not provide required meta keys: [a b]'],
  },
  {
    name: 'a priority out of range',
    call: dispatchOf({ Priority: 101 }),
    want: [400, 'dispatch job priority must be between [1, 100]'],
  },
  {
    name: 'a prefix with a space',
    call: dispatchOf({ IdPrefixTemplate: 'a b' }),
    want: [400, 'Job ID contains a space'],
  },
  {
    name: 'a prefix that no URL can spell',
    call: dispatchOf({ IdPrefixTemplate: '\udc00' }),
    want: [400, 'Job ID contains half of a surrogate pair'],
  },
  {
    name: 'a prefix that makes no path',
    call: dispatchOf({ IdPrefixTemplate: 'x'.repeat(4096) }),
    want: [400, 'Job ID is longer than 4096 characters'],
  },
]
for (const { name, job, call = dispatchOf(), want } of refusals)
  test(`dispatch: ${name} is refused, and nothing is written`, async () => {
    const server = await aServer(
      job !== undefined && job.ParameterizedJob === undefined ? job : { ...PARAMETERIZED, ...job },
    )
    const before = server.context.store.index
    assert.deepEqual(await server.refusal('dispatchJob', call), want)
    assert.equal(server.context.store.index, before)
  })

test('dispatch: a stopped parent is refused', async () => {
  const server = await aServer(PARAMETERIZED)
  await server.ok('stopJob', ofJob())
  assert.deepEqual(await server.refusal('dispatchJob', dispatchOf()), [
    400,
    'Specified job "web" is stopped',
  ])
})

test('dispatch: is refused while registration is disabled, but for management', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('registerJob', as(root, register(PARAMETERIZED)))
  await disableRegistration(server)
  const caller = await client('namespace "default" { policy = "write" }')
  assert.deepEqual(await server.refusal('dispatchJob', as(caller, dispatchOf())), [
    403,
    'Job registration, dispatch, and scale are disabled by the scheduler configuration',
  ])
  await server.ok('dispatchJob', as(root, dispatchOf()))
})

test('dispatch: needs dispatch-job, and not submit-job', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('registerJob', as(root, register({ ...PARAMETERIZED, TaskGroups: [aGroup()] })))
  const submitter = await client('namespace "default" { capabilities = ["submit-job"] }')
  assert.deepEqual(await server.refusal('dispatchJob', as(submitter, dispatchOf())), [
    403,
    'Permission denied',
  ])
  const dispatcher = await client('namespace "default" { capabilities = ["dispatch-job"] }')
  await server.ok('dispatchJob', as(dispatcher, dispatchOf()))
  await server.ok('dispatchJobPayload', as(dispatcher, ofJob()))
})
