import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEADERS, type Job } from '@reeve/contract'
import { aGroup } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { ofVersion, revertTo } from './job-history.ts'
import { aRollout, aRolloutServer } from './rollout.ts'
import { aSecuredServer } from './secured.ts'

const CLI = { headers: { [HEADERS.client]: 'cli' } }

type Origin = Pick<Job, 'SubmittedBy' | 'Origin' | 'Message'>

function originOf({ SubmittedBy, Origin, Message }: Origin): readonly unknown[] {
  return [SubmittedBy?.Name, Origin, Message]
}

async function versions(server: TestServer, jobId = 'web'): Promise<readonly unknown[]> {
  const { Versions } = await server.ok('listJobVersions', ofJob(jobId))
  return Versions.map(originOf)
}

test('origin: a version says who submitted it, with which client and why', async () => {
  const { server, as, token } = await aSecuredServer()
  const ada = await token({ Name: 'ada', Type: 'management', Policies: null })
  const request = register({}, { Message: 'raise pool size' })
  await server.ok('registerJob', as(ada, { ...request, ...CLI }))
  const job = await server.ok('readJob', as(ada, ofJob()))
  assert.deepEqual(job.SubmittedBy, { Type: 'management', ID: ada.AccessorID, Name: 'ada' })
  assert.deepEqual([job.Origin, job.Message], ['cli', 'raise pool size'])
})

test('origin: without ACLs the submitter is not known, and a foreign client is the API', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const headers = { [HEADERS.client]: 'curl' }
  await server.ok('registerJob', { ...register(), headers })
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual(originOf(job), [undefined, 'api', undefined])
  assert.equal('SubmittedBy' in job || 'Message' in job, false)
})

test('origin: the job in a request cannot claim another one', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const SubmittedBy = { Type: 'management', ID: 'x', Name: 'root' } as const
  await server.ok('registerJob', register({ SubmittedBy, Origin: 'server', Message: 'claimed' }))
  assert.deepEqual(originOf(await server.ok('readJob', ofJob())), [undefined, 'api', undefined])
})

test('origin: another message alone is no new version', async () => {
  const server = await createTestServer({ aclEnabled: false })
  for (const Message of ['first', 'second'])
    await server.ok('registerJob', register({}, { Message }))
  assert.deepEqual(await versions(server), [[undefined, 'api', 'first']])
})

test('origin: each way to a new version leaves its own', async () => {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', { ...register(ofVersion(0), { Message: 'begin' }), ...CLI })
  const scale = { Count: 3, Target: { Group: 'app' }, Message: 'sale' }
  await server.ok('scaleJob', { ...ofJob(), body: scale, ...CLI })
  await server.ok('revertJob', revertTo(0))
  await server.ok('revertJob', { ...revertTo(1, { Message: 'sale again' }), ...CLI })
  await server.ok('stopJob', ofJob())
  assert.deepEqual(await versions(server), [
    [undefined, 'api', undefined],
    [undefined, 'cli', 'sale again'],
    [undefined, 'api', 'revert to version 0'],
    [undefined, 'cli', 'sale'],
    [undefined, 'cli', 'begin'],
  ])
})

test('origin: a child has that of its launch, not that of its parent', async () => {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of [
    { ...PARAMETERIZED, ID: 'greet' },
    { ...PERIODIC, ID: 'tick' },
  ])
    await server.ok('registerJob', register(job, { Message: 'the parent' }))
  const { DispatchedJobID } = await server.ok('dispatchJob', ofJob('greet'))
  await server.ok('forcePeriodicJob', ofJob('tick'))
  const launched = (await server.ok('listJobs', { query: { prefix: 'tick/' } }))[0]?.ID ?? ''
  assert.deepEqual(await versions(server, DispatchedJobID), [[undefined, 'dispatch', undefined]])
  assert.deepEqual(await versions(server, launched), [[undefined, 'periodic', undefined]])
})

test('origin: an automatic revert names the version that failed, and why', async () => {
  const world = await aRolloutServer()
  const { server } = world
  await world.succeed({ update: { AutoRevert: true } })
  const second = aRollout({ command: '/bin/two', count: 2, update: { AutoRevert: true } })
  await server.ok('registerJob', { body: { Job: second, Message: 'new command' }, ...CLI })
  await world.settle()
  const { ID: id } = world.latest()
  assert.deepEqual(originOf(world.latest()), [undefined, 'cli', 'new command'])
  await server.ok('failDeployment', { params: { deployment_id: id } })
  const text = 'Deployment marked as failed - rolling back to job version 0'
  assert.deepEqual(originOf(world.job()), [undefined, 'auto-revert of 1', text])
})

test('origin: a message that is too long is refused', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const request = register({ TaskGroups: [aGroup()] }, { Message: 'x'.repeat(501) })
  assert.deepEqual(await server.refusal('registerJob', request), [
    400,
    'Message is longer than 500 characters',
  ])
})
