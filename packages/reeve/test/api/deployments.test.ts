import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '@reeve/contract'
import { newDeployment, newGroupState, withGroupStates } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, anId, NOW_MS } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import {
  createTestServer,
  itemsOf,
  untilParked,
  type CallOptions,
  type TestServer,
} from './harness.ts'
import { aRollout, aRolloutServer } from './rollout.ts'
import { aSecuredServer } from './secured.ts'

const NOT_FOUND = [404, 'deployment not found']
const DENIED = [403, 'Permission denied']

const read = (id: string): CallOptions => ({ params: { deployment_id: id } })

function aDeployment(n: number, fields: Partial<Deployment> = {}): Deployment {
  const job = aJob()
  const empty = newDeployment(job, { id: anId('any', n), timeMs: NOW_MS, priority: 50 })
  const state = newGroupState(job.TaskGroups[0]?.Update ?? assert.fail())
  return { ...withGroupStates(empty, new Map([['app', state]])), ...fields }
}

async function store(server: TestServer, ...rows: readonly Deployment[]): Promise<void> {
  for (const row of rows)
    await server.context.store.commit({
      by: 'system',
      cause: 'PlanResult',
      changes: () => [put('deployments', row)],
    }).durable
}

async function aServer(...rows: readonly Deployment[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  await store(server, ...rows)
  return server
}

// What they say

test('deployment: a registered service is rolled out, and everything of it can be read', async () => {
  const { server, run, live } = await aRolloutServer()
  await run(aRollout({ count: 2, update: { AutoRevert: true, Canary: 1 } }))
  const [listed] = await server.ok('listDeployments')
  assert.ok(listed !== undefined)
  assert.deepEqual(await server.ok('readDeployment', read(listed.ID)), listed)
  assert.deepEqual(await server.ok('readLatestDeployment', ofJob()), listed)
  assert.deepEqual(await server.ok('listJobDeployments', ofJob()), [listed])
  const { app } = listed.TaskGroups
  assert.deepEqual(
    [listed.JobID, listed.JobVersion, listed.Status, listed.StatusDescription],
    ['web', 0, 'running', 'Deployment is running'],
  )
  assert.deepEqual(
    [app?.DesiredTotal, app?.PlacedAllocs, app?.AutoRevert, app?.DesiredCanaries],
    [2, 2, true, 0],
  )
  const placed = await server.ok('listDeploymentAllocations', read(listed.ID))
  assert.deepEqual(
    placed.map((stub) => stub.ID),
    live().map((row) => row.ID),
  )
})

// Lists

test('list deployments: oldest first, in pages, and backwards', async () => {
  const server = await aServer(aDeployment(3), aDeployment(1), aDeployment(2))
  const ids = async (query: NonNullable<CallOptions['query']>) =>
    itemsOf(await server.call('listDeployments', { query })).map((one) => one.ID)
  assert.deepEqual(
    await ids({}),
    [3, 1, 2].map((n) => anId('any', n)),
  )
  assert.deepEqual(
    await ids({ reverse: true }),
    [2, 1, 3].map((n) => anId('any', n)),
  )
  const first = await server.call('listDeployments', { query: { per_page: 2 } })
  assert.equal(itemsOf(first).length, 2)
  assert.deepEqual(await ids({ next_token: first.nextToken ?? '' }), [anId('any', 2)])
})

test('list deployments: a prefix selects by id, a filter by anything', async () => {
  const server = await aServer(
    aDeployment(1, { Status: 'failed' }),
    aDeployment(2),
    aDeployment(3, { ID: anId('alloc', 3) }),
  )
  const count = async (query: NonNullable<CallOptions['query']>) =>
    itemsOf(await server.call('listDeployments', { query })).length
  assert.equal(await count({ prefix: 'dddd' }), 2)
  assert.equal(await count({ prefix: 'BBBB' }), 1)
  assert.equal(await count({ prefix: 'ee' }), 0)
  assert.equal(await count({ filter: 'Status == "failed"' }), 1)
  assert.equal(await count({ filter: '"app" in TaskGroups and JobVersion == 0' }), 3)
  assert.deepEqual(await server.refusal('listDeployments', { query: { prefix: 'ddd' } }), [
    400,
    'deployment lookup failed: Input (without hyphens) must be even length',
  ])
})

test('list deployments: one namespace, or all of them', async () => {
  const server = await aServer(aDeployment(1), aDeployment(2, { Namespace: 'other' }))
  const ids = async (namespace: string) =>
    (await server.ok('listDeployments', { query: { namespace } })).map((one) => one.ID)
  assert.deepEqual(await ids('default'), [anId('any', 1)])
  assert.deepEqual(await ids('other'), [anId('any', 2)])
  assert.deepEqual(await ids('nowhere'), [])
  assert.equal((await ids('*')).length, 2)
})

test('deployments of a job: only of the present registration, unless all are asked for', async () => {
  const { server, run, settle, latest } = await aRolloutServer()
  await run(aRollout())
  const old = latest().ID
  await server.ok('stopJob', ofJob('web', { purge: true }))
  await settle()
  await run(aRollout({ command: '/bin/two' }))
  const ids = async (all: boolean) =>
    (await server.ok('listJobDeployments', ofJob('web', { all }))).map((one) => one.ID)
  assert.deepEqual(await ids(false), [latest().ID])
  assert.deepEqual(await ids(true), [old, latest().ID].toSorted())
})

test('deployments of a job: an unknown one has none', async () => {
  const server = await aServer()
  assert.deepEqual(await server.ok('listJobDeployments', ofJob('nobody')), [])
  assert.equal(await server.ok('readLatestDeployment', ofJob('nobody')), null)
})

test('latest deployment: the newest of all versions', async () => {
  const { server, run, succeed } = await aRolloutServer()
  await succeed()
  await run(aRollout({ command: '/bin/two' }))
  const latest = await server.ok('readLatestDeployment', ofJob())
  assert.deepEqual([latest?.JobVersion, latest?.Status], [1, 'running'])
})

// Refusals

for (const route of ['readDeployment', 'listDeploymentAllocations'] as const) {
  test(`${route}: an unknown id is not found`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal(route, read(anId('any', 9))), NOT_FOUND)
  })

  test(`${route}: an id that is no UUID is refused`, async () => {
    const server = await aServer()
    assert.deepEqual(await server.refusal(route, read('dddddddd')), [
      400,
      'deployment lookup failed: UUID must be 36 characters',
    ])
  })

  test(`${route}: what the caller may not read does not exist`, async () => {
    const { server, as, client } = await aSecuredServer()
    await store(server, aDeployment(1))
    const stranger = await client('namespace "other" { policy = "write" }')
    const reader = await client('namespace "default" { policy = "read" }')
    assert.deepEqual(await server.refusal(route, as(stranger, read(anId('any', 1)))), NOT_FOUND)
    await server.ok(route, as(reader, read(anId('any', 1))))
  })
}

test('list deployments: everywhere means where the caller may read', async () => {
  const { server, as, client } = await aSecuredServer()
  await store(server, aDeployment(1), aDeployment(2, { Namespace: 'other' }))
  const reader = await client('namespace "other" { policy = "read" }')
  const list = (namespace: string) => as(reader, { query: { namespace } })
  const seen = await server.ok('listDeployments', list('*'))
  assert.deepEqual(
    seen.map((one) => one.Namespace),
    ['other'],
  )
  assert.deepEqual(await server.refusal('listDeployments', list('default')), DENIED)
})

// Blocking

test('read deployment: waits for the next change of it', async () => {
  const server = await aServer(aDeployment(1))
  const { index } = await server.call('readDeployment', read(anId('any', 1)))
  const waiting = server.call('readDeployment', { ...read(anId('any', 1)), query: { index } })
  await untilParked()
  await store(server, aDeployment(1, { Status: 'failed' }))
  const reply = await waiting
  assert.ok(reply.index > index)
})

test('latest deployment: waits until there is one', async () => {
  const server = await aServer()
  await server.ok('registerJob', register())
  const { index } = await server.call('readLatestDeployment', ofJob())
  const waiting = server.call('readLatestDeployment', ofJob('web', { index }))
  await untilParked()
  await store(server, aDeployment(1))
  // The call held it against the contract.
  const body = (await waiting).body as Deployment | null
  assert.equal(body?.ID, anId('any', 1))
})

test('allocations of a deployment: those of others are not shown', async () => {
  const server = await aServer(aDeployment(1), aDeployment(2))
  const rows = [1, 2].map((n) =>
    anAllocation({ index: n, ID: anId('alloc', n), DeploymentID: anId('any', n) }),
  )
  await server.context.store.commit({
    by: 'system',
    cause: 'PlanResult',
    changes: () => rows.map((row) => put('allocations', row)),
  }).durable
  const shown = await server.ok('listDeploymentAllocations', read(anId('any', 2)))
  assert.deepEqual(
    shown.map((stub) => stub.ID),
    [anId('alloc', 2)],
  )
})
