import assert from 'node:assert/strict'
import { test } from 'node:test'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, anEvaluation, anId, aGroup } from '../build/index.ts'
import { ofJob, putNode, withScheduler } from './cluster.ts'
import { createTestServer, type CallOptions } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const DENIED = [403, 'Permission denied']
const NOT_FOUND = [404, 'eval not found']

async function aScheduled(nodes = 1) {
  return await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
}

function read(id: string | undefined, query = {}): CallOptions {
  return { params: { eval_id: id ?? '' }, query }
}

// What they say

test('evaluation: one that has ended is answered at once, whatever index is waited for', async () => {
  const { server, run } = await aScheduled()
  await run()
  const [evaluation] = await server.ok('listJobEvaluations', ofJob())
  const waits = read(evaluation?.ID, { index: server.context.store.index + 100, wait: '60s' })
  assert.equal((await server.ok('readEvaluation', waits)).Status, 'complete')
})

test('evaluation: one that placed everything is complete and has nothing queued', async () => {
  const { server, run } = await aScheduled()
  await run({ TaskGroups: [aGroup({ Count: 2 })] })
  const [evaluation] = await server.ok('listJobEvaluations', ofJob())
  assert.deepEqual(
    [
      evaluation?.Status,
      evaluation?.QueuedAllocations,
      evaluation?.FailedTGAllocs,
      evaluation?.BlockedEval,
    ],
    ['complete', { app: 0 }, null, ''],
  )
  const placed = await server.ok('listEvaluationAllocations', read(evaluation?.ID))
  assert.deepEqual(
    placed.map((stub) => stub.EvalID),
    [evaluation?.ID, evaluation?.ID],
  )
})

test('evaluation: one that could not place everything says why, and another waits', async () => {
  const { server, run } = await aScheduled(0)
  await run()
  const evaluations = await server.ok('listJobEvaluations', ofJob())
  const complete = evaluations.find((one) => one.Status === 'complete')
  const blocked = evaluations.find((one) => one.Status === 'blocked')
  assert.deepEqual(complete?.QueuedAllocations, { app: 1 })
  assert.equal(complete?.FailedTGAllocs?.['app']?.NodesEvaluated, 0)
  assert.equal(complete?.BlockedEval, blocked?.ID)
  assert.deepEqual([blocked?.TriggeredBy, blocked?.PreviousEval], ['queued-allocs', complete?.ID])
})

test('evaluation: one that waits is carried out when room comes', async () => {
  const { server, run, settle, allocationsOf } = await aScheduled(0)
  await run()
  await putNode(server)
  server.clock.advance(20)
  await settle()
  assert.equal(allocationsOf('web').length, 1)
  const statuses = (await server.ok('listJobEvaluations', ofJob())).map((one) => one.Status)
  assert.deepEqual(statuses, ['complete', 'complete'])
})

test('evaluation: every field is there, zero or not', async () => {
  const { server, run } = await aScheduled()
  await run({ Type: 'batch' })
  const [listed] = await server.ok('listEvaluations')
  const evaluation = await server.ok('readEvaluation', read(listed?.ID))
  assert.deepEqual(evaluation, listed)
  assert.deepEqual(
    [
      evaluation.Wait,
      evaluation.WaitUntil,
      evaluation.NextEval,
      evaluation.NodeID,
      evaluation.DeploymentID,
    ],
    [0, '0001-01-01T00:00:00Z', '', '', ''],
  )
})

test('read evaluation: related=true adds those it came from and made', async () => {
  const { server, run } = await aScheduled(0)
  await run()
  const evaluations = await server.ok('listJobEvaluations', ofJob())
  const [complete, blocked] = ['complete', 'blocked'].map((status) =>
    evaluations.find((one) => one.Status === status),
  )
  const related = async (id: string | undefined, query: object) =>
    (await server.ok('readEvaluation', read(id, query))).RelatedEvals?.map((one) => one.ID) ?? null
  assert.equal(await related(complete?.ID, {}), null)
  assert.equal(await related(complete?.ID, { related: 'maybe' }), null)
  assert.deepEqual(await related(complete?.ID, { related: true }), [blocked?.ID])
  assert.deepEqual(await related(blocked?.ID, { related: true }), [complete?.ID])
})

// Refusals

test('evaluations: an unknown id is not found', async () => {
  const { server } = await aScheduled()
  for (const route of ['readEvaluation', 'listEvaluationAllocations'] as const)
    assert.deepEqual(await server.refusal(route, read(anId('eval', 9))), NOT_FOUND)
})

test('evaluations: an id that is no UUID is refused', async () => {
  const { server } = await aScheduled()
  for (const route of ['readEvaluation', 'listEvaluationAllocations'] as const)
    assert.deepEqual(await server.refusal(route, read('cccccccc')), [
      400,
      'eval lookup failed: UUID must be 36 characters',
    ])
})

// Legacy filters

async function aMix() {
  const scheduled = await aScheduled(0)
  await scheduled.run({ ID: 'a' })
  await scheduled.run({ ID: 'b' })
  const list = async (query: NonNullable<CallOptions['query']>) =>
    (await scheduled.server.ok('listEvaluations', { query })).map(
      (one) => `${one.JobID} ${one.Status}`,
    )
  return { ...scheduled, list }
}

test('list evaluations: status and job select exactly', async () => {
  const { list } = await aMix()
  assert.deepEqual((await list({})).toSorted(), [
    'a blocked',
    'a complete',
    'b blocked',
    'b complete',
  ])
  assert.deepEqual(await list({ status: 'blocked' }), ['a blocked', 'b blocked'])
  assert.deepEqual((await list({ job: 'a' })).toSorted(), ['a blocked', 'a complete'])
  assert.deepEqual(await list({ job: 'a', status: 'blocked' }), ['a blocked'])
  assert.deepEqual(await list({ status: 'block' }), [])
})

for (const legacy of [{ status: 'blocked' }, { job: 'a' }])
  test(`list evaluations: ${JSON.stringify(legacy)} does not go with a filter`, async () => {
    const { server } = await aScheduled()
    const query = { ...legacy, filter: 'Status == blocked' }
    assert.deepEqual(await server.refusal('listEvaluations', { query }), [
      400,
      'Filter expression cannot be used with other filter parameters',
    ])
  })

// Who may

async function withEvaluations() {
  const secured = await aSecuredServer()
  const [mine, other] = ['default', 'other'].map((Namespace, i) => {
    const job = aJob({ Namespace })
    return {
      evaluation: anEvaluation(job, { ID: anId('eval', i + 1) }),
      allocation: anAllocation({ job, index: i, EvalID: anId('eval', i + 1) }),
    }
  })
  secured.server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () =>
      [mine, other].flatMap((one) =>
        one === undefined
          ? []
          : [put('evaluations', one.evaluation), put('allocations', one.allocation)],
      ),
  })
  return { ...secured, mine: mine?.evaluation.ID, other: other?.evaluation.ID }
}

for (const route of ['readEvaluation', 'listEvaluationAllocations'] as const)
  test(`${route}: needs read-job in its own namespace; else it is not there`, async () => {
    const { server, as, client, mine, other } = await withEvaluations()
    const reader = await client('namespace "default" { capabilities = ["read-job"] }')
    await server.ok(route, as(reader, read(mine)))
    for (const query of [{}, { namespace: 'other' }])
      assert.deepEqual(await server.refusal(route, as(reader, read(other, query))), NOT_FOUND)
    const lister = await client('namespace "default" { capabilities = ["list-jobs"] }')
    assert.deepEqual(await server.refusal(route, as(lister, read(mine))), NOT_FOUND)
  })

test('list evaluations: needs read-job in the namespace; * shows those where it is held', async () => {
  const { server, as, client, other } = await withEvaluations()
  const reader = await client('namespace "other" { capabilities = ["read-job"] }')
  for (const namespace of ['other', '*']) {
    const listed = await server.ok('listEvaluations', as(reader, { query: { namespace } }))
    assert.deepEqual(
      listed.map((one) => one.ID),
      [other],
    )
  }
  assert.deepEqual(await server.refusal('listEvaluations', as(reader)), DENIED)
  const nobody = as(await client('node { policy = "read" }'), { query: { namespace: '*' } })
  assert.deepEqual(await server.refusal('listEvaluations', nobody), DENIED)
})
