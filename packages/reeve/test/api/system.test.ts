import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newSummary } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, anEvaluation, anId } from '../build/index.ts'
import { aNamespace } from '../build/store.ts'
import { ofJob, register, withScheduler } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']

// Repairs

test('gc: a job that is over goes with everything of it, whatever its age', async () => {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }))
  const { server, run, report, settle, allocationsOf } = scheduled
  await run({ ID: 'over', Type: 'batch' })
  await run({ ID: 'stays', Type: 'batch' })
  for (const row of allocationsOf('over')) await report(row, 'complete')
  for (const row of allocationsOf('stays')) await report(row, 'running')
  await settle()
  const reply = await server.call('collectGarbage')
  assert.deepEqual([reply.status, reply.text], [200, ''])
  assert.deepEqual(await server.refusal('readJob', ofJob('over')), [404, 'job not found'])
  assert.deepEqual(allocationsOf('over'), [])
  assert.deepEqual(await server.ok('listJobEvaluations', ofJob('over')), [])
  assert.equal((await server.ok('readJob', ofJob('stays'))).Status, 'running')
  assert.equal(allocationsOf('stays').length, 1)
  assert.equal(server.context.store.tables.job_versions.countByIndex('job', 'default!over'), 0)
})

test('gc: only jobs that go are told of, as deleted', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const job = { ...aJob(), Stop: true, Status: 'dead' as const }
  const ended = anAllocation({ job, DesiredStatus: 'stop', ClientStatus: 'complete' })
  const { store } = server.context
  store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      put('jobs', job),
      put('job_versions', job),
      put('allocations', ended),
      put('evaluations', anEvaluation(job, { ID: anId('eval', 1), Status: 'complete' })),
    ],
  })
  const types: string[] = []
  store.log.subscribe((commits) => {
    for (const { events } of commits)
      for (const event of events) types.push(`${event.Topic} ${event.Type}`)
  })
  await server.ok('collectGarbage')
  assert.deepEqual(types, ['Job JobBatchDeregistered'])
})

test('reconcile summaries: counts that are wrong become right, and right ones stay', async () => {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }))
  const { server, run, report, allocationsOf } = scheduled
  await run({ ID: 'web' })
  for (const row of allocationsOf('web')) await report(row, 'running')
  const right = await server.ok('readJobSummary', ofJob('web'))
  const { store } = server.context
  await server.ok('reconcileSummaries')
  assert.deepEqual(await server.ok('readJobSummary', ofJob('web')), right)
  const wrong = newSummary(await server.ok('readJob', ofJob('web')))
  await store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('job_summaries', wrong)],
  }).durable
  const reply = await server.call('reconcileSummaries')
  assert.deepEqual([reply.status, reply.text], [200, ''])
  const repaired = await server.ok('readJobSummary', ofJob('web'))
  assert.deepEqual(repaired.Summary, right.Summary)
  assert.deepEqual(repaired.Children, right.Children)
})

test('reconcile summaries: children are counted too', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const parent = aJob({ ID: 'parent', Type: 'batch', ParameterizedJob: { Payload: 'optional' } })
  const children = (['pending', 'running', 'running', 'dead'] as const).map((Status, i) => ({
    ...aJob({ ID: `parent/${i}`, ParentID: 'parent', Type: 'batch' }),
    Status,
  }))
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...[parent, ...children].map((job) => put('jobs', job)),
      put('job_summaries', newSummary(parent)),
    ],
  })
  await server.ok('reconcileSummaries')
  const { Children } = await server.ok('readJobSummary', ofJob('parent'))
  assert.deepEqual(Children, { Pending: 1, Running: 2, Dead: 1 })
})

for (const route of ['collectGarbage', 'reconcileSummaries'] as const)
  test(`${route}: needs management, and PUT`, async () => {
    const { server, as, client, root } = await aSecuredServer()
    const operator = await client('operator { policy = "write" }')
    assert.deepEqual(await server.refusal(route, as(operator)), DENIED)
    assert.deepEqual(await server.refusal(route), DENIED)
    await server.ok(route, as(root))
    const { status, text } = await server.call(route, { ...as(root), method: 'POST' })
    assert.deepEqual([status, text], [405, 'Invalid method'])
  })

// Evaluations, counted and deleted

/** Five evaluations: of a job that lives, of one that is dead, of one that is gone. */
async function withEvaluations() {
  const server = await createTestServer({ aclEnabled: false })
  const live = { ...aJob({ ID: 'live' }), Status: 'running' as const }
  const dead = { ...aJob({ ID: 'dead' }), Status: 'dead' as const }
  const other = aJob({ ID: 'elsewhere', Namespace: 'other' })
  await server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      put('jobs', live),
      put('jobs', dead),
      put('allocations', anAllocation({ job: live, EvalID: anId('eval', 1) })),
      put('evaluations', anEvaluation(live, { ID: anId('eval', 1), Status: 'complete' })),
      put('evaluations', anEvaluation(live, { ID: anId('eval', 2) })),
      put('evaluations', anEvaluation(dead, { ID: anId('eval', 3), Status: 'complete' })),
      put('evaluations', anEvaluation(dead, { ID: anId('eval', 4), Status: 'failed' })),
      put('evaluations', anEvaluation(other, { ID: anId('eval', 5), Status: 'complete' })),
    ],
  }).durable
  return server
}

async function pause(server: TestServer, PauseEvalBroker = true) {
  await server.ok('writeSchedulerConfiguration', { body: { PauseEvalBroker } })
}

for (const [query, count] of [
  [{}, 4],
  [{ namespace: '*' }, 5],
  [{ namespace: 'other' }, 1],
  [{ status: 'complete' }, 2],
  [{ job: 'live' }, 2],
  [{ filter: 'Status == "failed"' }, 1],
  [{ filter: 'JobID == "nothing"' }, 0],
] as const)
  test(`count evaluations: ${JSON.stringify(query)} are ${count}`, async () => {
    const server = await withEvaluations()
    const answer = await server.ok('countEvaluations', { query })
    const { evaluations } = server.context.store.tables
    assert.deepEqual(answer, {
      Count: count,
      Index: evaluations.lastIndex,
      LastContact: 0,
      KnownLeader: true,
      NextToken: '',
    })
  })

test('count evaluations: filters are held to the same rules as in lists', async () => {
  const server = await withEvaluations()
  assert.deepEqual(
    await server.refusal('countEvaluations', { query: { filter: 'ID == "x"', job: 'web' } }),
    [400, 'Filter expression cannot be used with other filter parameters'],
  )
  const [status, text] = await server.refusal('countEvaluations', { query: { filter: '(' } })
  assert.equal(status, 400)
  assert.match(text, /^failed to create result paginator: failed to read filter expression: /)
})

for (const { name, body, text } of [
  {
    name: 'both ids and a filter',
    body: { EvalIDs: [anId('eval', 2)], Filter: 'Status == "failed"' },
    text: 'evals cannot be deleted by both ID and filter',
  },
  { name: 'neither', body: {}, text: 'evals must be deleted by either ID or filter' },
  { name: 'no body', body: undefined, text: 'evals must be deleted by either ID or filter' },
  {
    name: 'too many ids',
    body: { EvalIDs: Array.from({ length: 7_282 }, () => anId('eval', 2)) },
    text: 'request includes 7282 evaluation IDs, must be 7281 or fewer',
  },
  {
    name: 'an id that is none',
    body: { EvalIDs: ['x'] },
    text: 'eval lookup failed: UUID must be 36 characters',
  },
  {
    name: 'one that is needed',
    body: { EvalIDs: [anId('eval', 2), anId('eval', 1)] },
    text: `eval ${anId('eval', 1)} is not safe to delete`,
  },
])
  test(`delete evaluations: ${name} is refused, and nothing is deleted`, async () => {
    const server = await withEvaluations()
    await pause(server)
    const call = body === undefined ? {} : { body }
    assert.deepEqual(await server.refusal('deleteEvaluations', call), [400, text])
    assert.equal(server.context.store.tables.evaluations.size, 5)
  })

test('delete evaluations: one that does not exist is not found', async () => {
  const server = await withEvaluations()
  await pause(server)
  const body = { EvalIDs: [anId('eval', 2), anId('eval', 9)] }
  assert.deepEqual(await server.refusal('deleteEvaluations', { body }), [404, 'eval not found'])
  assert.equal(server.context.store.tables.evaluations.size, 5)
})

test('delete evaluations: the pause is required before any ID is looked up', async () => {
  const server = await withEvaluations()
  const body = { EvalIDs: [anId('eval', 9)] }
  const [status, text] = await server.refusal('deleteEvaluations', { body })
  assert.equal(status, 400)
  assert.match(text, /^eval broker is enabled/)
})

for (const body of [{ EvalIDs: [anId('eval', 2)] }, { Filter: 'Status == "pending"' }])
  test(`delete evaluations: ${Object.keys(body)[0]} need a paused broker`, async () => {
    const server = await withEvaluations()
    assert.deepEqual(await server.refusal('deleteEvaluations', { body }), [
      400,
      'eval broker is enabled; eval broker must be paused to delete evals',
    ])
    await pause(server)
    const { Count, Index } = await server.ok('deleteEvaluations', { body })
    assert.deepEqual([Count, Index], [1, server.context.store.index])
    assert.equal(server.context.store.tables.evaluations.has(anId('eval', 2)), false)
  })

test('delete evaluations: a filter leaves what is needed and what is in other namespaces', async () => {
  const server = await withEvaluations()
  await pause(server)
  const body = { Filter: 'Status == "complete"' }
  assert.equal((await server.ok('deleteEvaluations', { body })).Count, 1)
  const { evaluations } = server.context.store.tables
  assert.deepEqual(
    [...evaluations.keys()],
    [1, 2, 4, 5].map((i) => anId('eval', i)),
  )
  const everywhere = { body, query: { namespace: '*' } }
  assert.equal((await server.ok('deleteEvaluations', everywhere)).Count, 1)
})

test('delete evaluations: the index is that of the deletion, not of what others write meanwhile', async () => {
  const server = await withEvaluations()
  await pause(server)
  const { store } = server.context
  const before = store.index
  const unsubscribe = store.log.subscribe(() => {
    unsubscribe()
    store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [put('namespaces', aNamespace('other'))],
    })
  })
  const { Index } = await server.ok('deleteEvaluations', {
    body: { Filter: 'Status == "pending"' },
  })
  assert.deepEqual([Index, store.index], [before + 1, before + 2])
})

for (const [Type, status] of [
  ['service', 'pending'],
  ['batch', 'dead'],
] as const)
  test(`delete evaluations: a ${Type} job that only waited for one is ${status}`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    await pause(server)
    const { EvalID } = await server.ok('registerJob', register({ Type }))
    assert.equal((await server.ok('readJob', ofJob())).Status, 'pending')
    await server.ok('deleteEvaluations', { body: { EvalIDs: [EvalID] } })
    assert.equal((await server.ok('readJob', ofJob())).Status, status)
  })

test('evaluations: counting needs read-job, deleting management', async () => {
  const { server, as, client, root } = await aSecuredServer()
  const reader = await client('namespace "default" { capabilities = ["read-job"] }')
  const body = { body: { Filter: 'Status == "x"' } }
  await server.ok('countEvaluations', as(reader))
  assert.deepEqual(await server.refusal('countEvaluations'), DENIED)
  assert.deepEqual(await server.refusal('deleteEvaluations', as(reader, body)), DENIED)
  await server.ok('writeSchedulerConfiguration', as(root, { body: { PauseEvalBroker: true } }))
  assert.equal((await server.ok('deleteEvaluations', as(root, body))).Count, 0)
})
