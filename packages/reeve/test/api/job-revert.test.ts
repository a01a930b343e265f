import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aTask, aGroup } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import { aListening } from './event-reader.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { addVersions, ofVersion, revertTo, toJob, withVersions } from './job-history.ts'
import { aSecuredServer } from './secured.ts'

test('revert: registers an earlier version again, as a new one', async () => {
  const server = await withVersions(3)
  const reply = await server.call('revertJob', revertTo(0))
  const [evaluation] = (await server.ok('listJobEvaluations', ofJob())).filter(
    (row) => row.CreateIndex === 5,
  )
  assert.deepEqual(reply.body, {
    EvalID: evaluation?.ID,
    EvalCreateIndex: 5,
    JobModifyIndex: 5,
    Warnings: '',
    Index: 5,
    LastContact: 0,
    KnownLeader: true,
    NextToken: '',
  })
  assert.equal(reply.index, 5)
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(
    [job.Version, job.TaskGroups[0]?.Count, job.CreateIndex, job.JobModifyIndex, job.Status],
    [3, 1, 2, 5, 'pending'],
  )
  assert.deepEqual(
    [evaluation?.TriggeredBy, evaluation?.JobModifyIndex, evaluation?.Priority],
    ['job-register', 5, 50],
  )
})

test('revert: the new version has none of the marks of the old one', async () => {
  const server = await withVersions(2)
  await server.ok('setJobStability', toJob({ JobID: 'web', JobVersion: 0, Stable: true }))
  await server.ok('tagJobVersion', toJob({ Version: 0 }, { tag_name: 'gold' }))
  await server.ok('revertJob', revertTo(0))
  const { Versions } = await server.ok('listJobVersions', ofJob())
  assert.deepEqual(
    Versions.map((job) => [job.Version, job.Stable, job.VersionTag?.Name]),
    [
      [2, false, undefined],
      [1, false, undefined],
      [0, true, 'gold'],
    ],
  )
})

test('revert: without a version it is version 0', async () => {
  const server = await withVersions(2)
  await server.ok('revertJob', toJob({ JobID: 'web' }))
  assert.equal((await server.ok('readJob', ofJob())).TaskGroups[0]?.Count, 1)
})

test('revert: the source is that of the version it repeats', async () => {
  const server = await withVersions(3)
  await server.ok('revertJob', revertTo(1))
  const read = (version: number) => server.ok('readJobSubmission', ofJob('web', { version }))
  const [old, next] = [await read(1), await read(3)]
  assert.deepEqual([next.Source, next.Version, next.JobIndex], [old.Source, 3, 5])
})

test('revert: a version without a source gives none', async () => {
  const server = await createTestServer({ aclEnabled: false })
  for (const version of [0, 1]) await server.ok('registerJob', register(ofVersion(version)))
  await server.ok('revertJob', revertTo(0))
  const [status] = await server.refusal('readJobSubmission', ofJob('web', { version: 2 }))
  assert.equal(status, 404)
})

test('revert: a stopped job runs again', async () => {
  const server = await withVersions(1)
  await server.ok('stopJob', ofJob())
  await server.ok('revertJob', revertTo(0))
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Version, job.Stop], [2, false])
})

test('revert: to what the job is already makes no new version, but an evaluation', async () => {
  const server = await withVersions(2)
  await server.ok('revertJob', revertTo(0))
  const reply = await server.ok('revertJob', revertTo(0))
  assert.deepEqual([reply.Index, reply.JobModifyIndex], [5, 4])
  assert.equal((await server.ok('readJob', ofJob())).Version, 2)
})

test('revert: whoever reverts is who submitted the new version', async () => {
  const { server, root, as, client } = await aSecuredServer()
  for (const version of [0, 1])
    await server.ok('registerJob', as(root, register(ofVersion(version))))
  const other = await client('namespace "default" { capabilities = ["revert-job", "read-job"] }')
  await server.ok('revertJob', as(other, revertTo(0)))
  const job = await server.ok('readJob', as(other, ofJob()))
  assert.equal(job.ServiceTokenID, other.AccessorID)
})

const REFUSED: readonly [string, CallOptions, number, string][] = [
  ['no body', toJob(), 400, 'Request body is empty'],
  ['no job', toJob({ JobVersion: 0 }), 400, 'JobID must be specified'],
  ['another job', toJob({ JobID: 'x' }), 400, 'Job ID does not match'],
  ['the current version', revertTo(2), 400, "can't revert to current version"],
  [
    'an unknown version',
    revertTo(9),
    404,
    'job "web" in namespace "default" at version 9 not found',
  ],
  [
    'a version below zero',
    revertTo(-1),
    404,
    'job "web" in namespace "default" at version -1 not found',
  ],
  [
    'an unknown job',
    { params: { job_id: 'x' }, body: { JobID: 'x', JobVersion: 0 } },
    404,
    'job "x" not found',
  ],
  [
    'another prior version',
    revertTo(0, { EnforcePriorVersion: 1 }),
    409,
    'Current job has version 2; enforcing version 1',
  ],
  [
    'prior version 0, which is a version',
    revertTo(1, { EnforcePriorVersion: 0 }),
    409,
    'Current job has version 2; enforcing version 0',
  ],
]

for (const [name, call, status, text] of REFUSED)
  test(`revert: ${name} answers ${status}`, async () => {
    const server = await withVersions(3)
    assert.deepEqual(await server.refusal('revertJob', call), [status, text])
    assert.equal(server.context.store.index, 4, 'nothing was written')
  })

test('revert: a version that fell out is unknown', async () => {
  const server = await withVersions(8)
  assert.equal((await server.refusal('revertJob', revertTo(0)))[0], 404)
})

test('revert: the prior version is looked at only when it is given', async () => {
  const server = await withVersions(3)
  await server.ok('revertJob', revertTo(1, { EnforcePriorVersion: null }))
  await server.ok('revertJob', revertTo(0, { EnforcePriorVersion: 3 }))
})

test('revert: the rules of now hold for versions of then', async () => {
  const server = await withVersions(2)
  const body = { Name: 'default', Capabilities: { DisabledTaskDrivers: ['raw_exec'] } }
  await server.ok('writeNamespace', { params: { namespace_name: 'default' }, body })
  const [status, text] = await server.refusal('revertJob', revertTo(0))
  assert.equal(status, 400)
  assert.match(text, /raw_exec/)
})

test('revert: is told as a registration', { timeout: 300_000 }, async (t) => {
  const { open, flush, server } = await aListening(t, await withVersions(2))
  const reader = await open({ topics: ['Job'] })
  await server.ok('revertJob', revertTo(0))
  flush()
  await reader.line((line) => line.Index === 4)
  const last = reader.events().at(-1)
  assert.deepEqual([last?.Topic, last?.Type, last?.Key], ['Job', 'JobRegistered', 'web'])
})

// Compare and set

async function statuses(calls: readonly Promise<{ readonly status: number }>[]) {
  const replies = await Promise.all(calls)
  const counts = Map.groupBy(replies, (reply) => reply.status)
  return Object.fromEntries([...counts].map(([status, of]) => [status, of.length]))
}

const CALLERS = 1000

function thousand<T>(call: (i: number) => T): readonly T[] {
  return Array.from({ length: CALLERS }, (_none, i) => call(i))
}

test('EnforceIndex: of a thousand registrations with one index exactly one succeeds', async () => {
  const server = await withVersions(1)
  const request = { EnforceIndex: true, JobModifyIndex: 2 }
  const calls = thousand((i) => server.call('registerJob', register(ofVersion(i + 1), request)))
  assert.deepEqual(await statuses(calls), { 200: 1, 409: CALLERS - 1 })
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Version, job.JobModifyIndex, server.context.store.index], [1, 3, 3])
})

test('EnforceIndex: of a thousand who want a new job exactly one has it', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const request = { EnforceIndex: true, JobModifyIndex: 0 }
  const calls = thousand((i) => server.call('registerJob', register(ofVersion(i), request)))
  assert.deepEqual(await statuses(calls), { 200: 1, 409: CALLERS - 1 })
  assert.equal((await server.ok('readJob', ofJob())).Version, 0)
})

test('EnforcePriorVersion: of a thousand reverts exactly one succeeds', async () => {
  const server = await withVersions(3)
  const call = revertTo(0, { EnforcePriorVersion: 2 })
  const calls = thousand(() => server.call('revertJob', call))
  assert.deepEqual(await statuses(calls), { 200: 1, 409: CALLERS - 1 })
  assert.equal((await server.ok('readJob', ofJob())).Version, 3)
})

test('revert: after other registrations the whole specification is as it was', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const first = { Meta: { a: '1' }, TaskGroups: [aGroup({ tasks: [aTask({ Env: { A: 'b' } })] })] }
  await server.ok('registerJob', register(first))
  await addVersions(server, 1, 3)
  await server.ok('revertJob', revertTo(0))
  const query = { diff_version: 0 }
  const { Diffs } = await server.ok('listJobVersions', ofJob('web', query))
  assert.deepEqual(
    Diffs?.map((diff) => diff.Type),
    ['None', 'Edited', 'Edited', 'None'],
  )
})

test('revert: hostile numbers are refused and change nothing', async () => {
  const server: TestServer = await withVersions(2)
  for (const JobVersion of [1e300, Number.MAX_SAFE_INTEGER, 0.5, '0', [0]]) {
    const { status } = await server.call('revertJob', toJob({ JobID: 'web', JobVersion }))
    assert.ok(status === 400 || status === 404, `${JSON.stringify(JobVersion)}: ${status}`)
  }
  assert.equal(server.context.store.index, 3)
})
