import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AllocationRow } from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aGroup, aJob, anAllocation, anId } from '../build/index.ts'
import { ofJob, withScheduler } from './cluster.ts'
import { createTestServer, type CallOptions } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const AT_ONCE = { TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] }

async function aRunning(nodes = 1, job: object = AT_ONCE) {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }), nodes)
  await scheduled.run(job)
  for (const row of scheduled.allocationsOf('web')) await scheduled.report(row, 'running')
  const [row] = scheduled.allocationsOf('web')
  return { ...scheduled, row: row ?? assert.fail() }
}

function stop(row: Pick<AllocationRow, 'ID'>, query = {}): CallOptions {
  return { params: { alloc_id: row.ID }, query }
}

test('stop allocation: it is stopped, and another is placed in its stead', async () => {
  const { server, settle, allocationsOf, row } = await aRunning()
  const answer = await server.ok('stopAllocation', stop(row))
  await settle()
  const stopped = await server.ok('readAllocation', { params: { alloc_id: row.ID } })
  assert.equal(stopped.DesiredStatus, 'stop')
  assert.equal(stopped.DesiredTransition.Migrate, true)
  const others = allocationsOf('web').filter(({ ID }) => ID !== row.ID)
  assert.deepEqual(
    others.map((one) => [one.Name, one.DesiredStatus, one.PreviousAllocation, one.EvalID]),
    [['web.app[0]', 'run', row.ID, answer.EvalID]],
  )
  assert.equal(stopped.NextAllocation, others[0]?.ID)
})

test('stop allocation: the answer is the evaluation and the index of the write', async () => {
  const { server, settle, row } = await aRunning(1, { ...AT_ONCE, Priority: 70 })
  const before = server.context.store.index
  const reply = await server.call('stopAllocation', stop(row))
  const evaluations = await server.ok('listEvaluations')
  const evaluation = evaluations.find((one) => one.TriggeredBy === 'alloc-stop')
  assert.deepEqual(reply.body, { EvalID: evaluation?.ID, Index: before + 1 })
  assert.equal(reply.index, before + 1)
  await settle()
  assert.deepEqual(
    [evaluation?.Priority, evaluation?.Type, evaluation?.CreateIndex],
    [70, 'service', before + 1],
  )
})

test('stop allocation: a body is not looked at, and PUT is as good as POST', async () => {
  const { server, row } = await aRunning()
  await server.ok('stopAllocation', { ...stop(row), body: '{{', method: 'PUT' })
})

const WISHES = [
  { query: {}, want: { NoShutdownDelay: null, Reschedule: null } },
  { query: { no_shutdown_delay: true }, want: { NoShutdownDelay: true, Reschedule: null } },
  { query: { reschedule: true }, want: { NoShutdownDelay: null, Reschedule: true } },
  {
    query: { no_shutdown_delay: false, reschedule: false },
    want: { NoShutdownDelay: null, Reschedule: null },
  },
]

for (const { query, want } of WISHES)
  test(`stop allocation: ${JSON.stringify(query)} is told to the node that runs it`, async () => {
    const { server, row } = await aRunning()
    await server.ok('stopAllocation', stop(row, query))
    const { DesiredTransition } = await server.ok('readAllocation', {
      params: { alloc_id: row.ID },
    })
    const { NoShutdownDelay, Reschedule } = DesiredTransition
    assert.deepEqual({ NoShutdownDelay, Reschedule }, want)
  })

test('stop allocation: the write is one of the servers, and an event tells of it', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const job = { ...aJob(), Status: 'running' as const }
  const row = anAllocation({ job })
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', job), put('job_versions', job), put('allocations', row)],
  })
  const index = server.context.store.index + 1
  const events: string[] = []
  server.context.store.log.subscribe((commits) => {
    for (const commit of commits)
      events.push(...commit.events.map(({ Topic, Type, Key }) => `${Topic} ${Type} ${Key}`))
  })
  const { EvalID } = await server.ok('stopAllocation', stop(row))
  const stored = await server.ok('readAllocation', { params: { alloc_id: row.ID } })
  assert.equal(stored.AllocModifyIndex, index)
  assert.deepEqual(events.toSorted(), [
    `Allocation AllocationUpdateDesiredStatus ${row.ID}`,
    `Evaluation EvaluationUpdated ${EvalID}`,
  ])
})

test('stop allocation: one that has ended may be stopped, and nothing follows', async () => {
  const { server, settle, report, allocationsOf, row } = await aRunning(1, { Type: 'batch' })
  await report(row, 'complete')
  const { EvalID } = await server.ok('stopAllocation', stop(row))
  await settle()
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
  assert.deepEqual([evaluation.Status, allocationsOf('web').length], ['complete', 1])
})

test('stop allocation: of a job on every node it is placed anew on its node', async () => {
  const { server, settle, allocationsOf, report, row } = await aRunning(2, { Type: 'system' })
  await server.ok('stopAllocation', stop(row))
  await settle()
  const [stopped] = allocationsOf('web').filter(({ ID }) => ID === row.ID)
  assert.equal(stopped?.DesiredStatus, 'stop')
  await report(stopped ?? assert.fail(), 'complete')
  await server.ok('evaluateJob', { ...ofJob(), body: { JobID: 'web' } })
  await settle()
  const live = allocationsOf('web').filter((one) => one.DesiredStatus === 'run')
  assert.deepEqual(
    live.map((one) => one.NodeID).toSorted(),
    [anId('node', 1), anId('node', 2)].toSorted(),
  )
})

test('stop allocation: of a purged job only the allocation is left to stop', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const job = aJob()
  const row = anAllocation({ job })
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('job_versions', job), put('allocations', row)],
  })
  const { EvalID } = await server.ok('stopAllocation', stop(row))
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
  assert.deepEqual([evaluation.JobID, evaluation.TriggeredBy], ['web', 'alloc-stop'])
})

test('stop allocation: what does not exist is not found, and a short id is none', async () => {
  const { server } = await aRunning()
  const unknown = stop({ ID: anId('alloc', 99) })
  assert.deepEqual(await server.refusal('stopAllocation', unknown), [404, 'allocation not found'])
  assert.deepEqual(await server.refusal('stopAllocation', stop({ ID: 'abcdef12' })), [
    400,
    'alloc lookup failed: UUID must be 36 characters',
  ])
  const wrong = stop({ ID: anId('alloc', 99) }, { no_shutdown_delay: 'maybe' })
  assert.equal((await server.refusal('stopAllocation', wrong))[0], 400)
})

test('stop allocation: needs alloc-lifecycle in its own namespace', async () => {
  const { server, as, client } = await aSecuredServer()
  const job = aJob()
  const row = anAllocation({ job })
  server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('jobs', job), put('job_versions', job), put('allocations', row)],
  })
  const denied = [403, 'Permission denied']
  const others = [
    'namespace "default" { capabilities = ["read-job", "submit-job", "alloc-exec"] }',
    'namespace "other" { capabilities = ["alloc-lifecycle"] }',
  ]
  for (const rules of others)
    for (const query of [{}, { namespace: 'other' }])
      assert.deepEqual(
        await server.refusal('stopAllocation', as(await client(rules), stop(row, query))),
        denied,
      )
  assert.deepEqual(await server.refusal('stopAllocation', stop(row)), denied)
  const keeper = await client('namespace "default" { capabilities = ["alloc-lifecycle"] }')
  await server.ok('stopAllocation', as(keeper, stop(row, { namespace: 'other' })))
})
