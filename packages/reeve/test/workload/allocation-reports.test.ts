import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evaluation } from '@reeve/contract'
import { isTerminal } from '../../src/model/index.ts'
import { jobVersionKey, namespacedKey, put, remove } from '../../src/state/index.ts'
import { withScheduler, type ScheduledServer } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'
import { aGroup, anEvaluation, anId } from '../build/index.ts'

async function aWorld(): Promise<ScheduledServer> {
  return await withScheduler(await createTestServer({ aclEnabled: false }), 1)
}

function evaluationsOf({ server }: ScheduledServer, trigger: string): readonly Evaluation[] {
  const { evaluations } = server.context.store.tables
  return [...evaluations.rows()].filter((row) => row.TriggeredBy === trigger)
}

test('reports: one that ended and whose job is gone is told to stop, and the rest of the job with it', async () => {
  const world = await aWorld()
  const { server, run, report, allocationsOf } = world
  await run({ TaskGroups: [aGroup({ Count: 2, Update: null })] })
  const [first, second] = allocationsOf('web')
  assert.ok(first && second)
  await report(first, 'running')
  // Gone without a word to its allocations.
  const { store } = server.context
  store.commit({ by: 'system', cause: undefined, changes: () => [remove('jobs', 'default!web')] })
  await report(first, 'complete')
  const wanted = allocationsOf('web').map((row) => row.DesiredStatus)
  assert.deepEqual(wanted, ['stop', 'stop'])
  const [evaluation, ...others] = evaluationsOf(world, 'job-deregister')
  assert.deepEqual([evaluation?.Type, evaluation?.Status, others], ['service', 'complete', []])
})

test('reports: one whose purged job has told it to stop asks for nothing more', async () => {
  const world = await aWorld()
  const { server, run, report, allocationsOf, settle } = world
  await run()
  const [row] = allocationsOf('web')
  assert.ok(row)
  await server.ok('stopJob', { params: { job_id: 'web' }, query: { purge: true } })
  await settle()
  const before = evaluationsOf(world, 'job-deregister').length
  await report(row, 'complete')
  assert.equal(evaluationsOf(world, 'job-deregister').length, before)
})

const returns = [
  { name: 'is given up when all that waited for it are back', others: 0, status: 'canceled' },
  { name: 'stays while another one waits for it', others: 1, status: 'pending' },
]
for (const c of returns)
  test(`reports: the follow-up of an unknown allocation ${c.name}`, async () => {
    const { server, run, report, allocationsOf } = await aWorld()
    await run({ TaskGroups: [aGroup({ Count: 1 + c.others, Update: null })] })
    const { store } = server.context
    const followUp = anId('eval', 77)
    const job = store.tables.jobs.get(namespacedKey('default', 'web'))
    const rows = allocationsOf('web')
    store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [
        put('evaluations', {
          ...anEvaluation(job, { ID: followUp, TriggeredBy: 'max-disconnect-timeout' }),
          WaitUntil: '2030-01-01T00:00:00Z',
        }),
        ...rows.map((row) =>
          put('allocations', { ...row, ClientStatus: 'unknown', FollowupEvalID: followUp }),
        ),
      ],
    })
    const [first] = rows
    assert.ok(first)
    await report(first, 'running')
    assert.equal(store.tables.evaluations.get(followUp).Status, c.status)
  })

test('reports: a service that its agent stopped because it was alone is evaluated', async () => {
  const world = await aWorld()
  const { run, report, allocationsOf } = world
  const Disconnect = { StopOnClientAfter: 60e9 }
  await run({ TaskGroups: [aGroup({ Disconnect, Update: null })] })
  const [row] = allocationsOf('web')
  assert.ok(row)
  await report(row, 'running')
  await report(row, 'complete')
  assert.equal(evaluationsOf(world, 'reconnect').length, 1)
  assert.equal(allocationsOf('web').filter((one) => one.ClientStatus === 'pending').length, 1)
})

const ends = [
  { name: 'on the word of servers', reason: 'its job was stopped', evaluations: 1 },
  { name: 'by its leader', reason: '', evaluations: 0 },
]
for (const c of ends)
  test(`reports: a service that was ended ${c.name}, and is wanted, has ${c.evaluations} evaluations`, async () => {
    const world = await aWorld()
    const { run, report, allocationsOf } = world
    await run({ TaskGroups: [aGroup({ Update: null })] })
    const [row] = allocationsOf('web')
    assert.ok(row)
    await report(row, 'running')
    // The state was restored to before it was stopped.
    const killing = { Type: 'Killing', KillReason: c.reason }
    const Events = [killing, { Type: 'Terminated' }, { Type: 'Killed' }]
    await report(row, 'complete', { TaskStates: { main: { State: 'dead', Events } } })
    assert.equal(evaluationsOf(world, 'reconnect').length, c.evaluations)
    const pending = allocationsOf('web').filter((one) => one.ClientStatus === 'pending')
    assert.equal(pending.length, c.evaluations)
  })

test('job status: the record of the version shows what the job shows, whoever changed it', async () => {
  const { server, run, report, allocationsOf, settle } = await aWorld()
  const { tables } = server.context.store
  const statuses = () => [
    tables.jobs.get(namespacedKey('default', 'web')).Status,
    tables.job_versions.get(jobVersionKey('default', 'web', 0)).Status,
  ]
  await run({ Type: 'batch' })
  assert.deepEqual(statuses(), ['running', 'running'])
  const [row] = allocationsOf('web')
  assert.ok(row)
  await report(row, 'complete')
  await settle()
  assert.deepEqual(statuses(), ['dead', 'dead'])
})

test('job status: the record of the version is written when the status changes, and only then', async () => {
  const { server, run, report, allocationsOf } = await aWorld()
  const { store } = server.context
  let writes = 0
  store.log.subscribe((commits) => {
    for (const commit of commits)
      writes += commit.rows.filter((row) => row.table === 'job_versions').length
  })
  await run({ Type: 'batch', TaskGroups: [aGroup({ Count: 3 })] })
  assert.equal(writes, 1, 'registered and placed, so running')
  for (const row of allocationsOf('web')) await report(row, 'running')
  assert.equal(writes, 1)
  for (const row of allocationsOf('web')) await report(row, 'complete')
  assert.equal(writes, 2, 'dead')
})

test('blocked: a node with room again takes the system job that waited for it', async () => {
  const world = await withScheduler(await createTestServer({ aclEnabled: false }), 2)
  const { server, run, report, allocationsOf, settle } = world
  const { tables } = server.context.store
  const Tasks = [{ Name: 'main', Driver: 'raw_exec', Resources: { CPU: 3_000, MemoryMB: 10 } }]
  await run({ ID: 'big', Priority: 100, TaskGroups: [aGroup({ Count: 1, Tasks, Update: null })] })
  const [big] = allocationsOf('big')
  assert.ok(big)
  await report(big, 'running')
  await run({ ID: 'everywhere', Type: 'system', TaskGroups: [aGroup({ Count: 1, Tasks })] })
  assert.equal(allocationsOf('everywhere').length, 1)
  assert.equal(tables.evaluations.countByIndex('status', 'blocked'), 1, 'one for the job')
  await server.ok('stopJob', { params: { job_id: 'big' } })
  await settle()
  await report(big, 'complete')
  server.clock.advance(1_000)
  await settle()
  const nodes = allocationsOf('everywhere').map((row) => row.NodeID)
  assert.deepEqual(nodes.toSorted(), [anId('node', 1), anId('node', 2)])
  assert.equal(tables.evaluations.countByIndex('status', 'blocked'), 0)
})

/** Everything of the job that has not ended fails, again and again. */
async function failAll({ server, report, allocationsOf, settle }: ScheduledServer, jobId: string) {
  for (let round = 0; round < 10; round++) {
    for (const row of allocationsOf(jobId)) if (!isTerminal(row)) await report(row, 'failed')
    server.clock.advance(1_000)
    await settle()
  }
}

test('reports: a system job that always fails is not placed again by its own failures', async () => {
  const world = await withScheduler(await createTestServer({ aclEnabled: false }), 2)
  const { server, run, allocationsOf, settle } = world
  await run({ Type: 'system', TaskGroups: [aGroup({ Update: null })] })
  await failAll(world, 'web')
  assert.equal(allocationsOf('web').length, 2, 'one on each node')
  assert.deepEqual(evaluationsOf(world, 'alloc-failure'), [])
  await server.ok('evaluateJob', { params: { job_id: 'web' }, body: { JobID: 'web' } })
  await settle()
  assert.equal(allocationsOf('web').length, 4, 'another reason places it again')
})

test('reports: a failed system allocation is not placed again by the room that it leaves', async () => {
  const world = await withScheduler(await createTestServer({ aclEnabled: false }), 2)
  const { server, run, allocationsOf } = world
  const Tasks = [{ Name: 'main', Driver: 'raw_exec', Resources: { CPU: 3_000, MemoryMB: 10 } }]
  await run({ ID: 'big', Priority: 100, TaskGroups: [aGroup({ Count: 1, Tasks, Update: null })] })
  await run({ Type: 'system', TaskGroups: [aGroup({ Tasks, Update: null })] })
  const { evaluations } = server.context.store.tables
  assert.equal(evaluations.countByIndex('status', 'blocked'), 1, 'the other node is full')
  await failAll(world, 'web')
  assert.equal(allocationsOf('web').length, 1)
  assert.equal(evaluations.countByIndex('status', 'blocked'), 1, 'it waits for the other node')
})

test('reports: a failure asks for an evaluation only where the group is placed again', async () => {
  const world = await aWorld()
  const policies = {
    again: { Unlimited: true, Delay: 5e9 },
    never: { Attempts: 0, Unlimited: false },
  }
  for (const [ID, ReschedulePolicy] of Object.entries(policies)) {
    await world.run({ ID, TaskGroups: [aGroup({ Update: null, ReschedulePolicy })] })
    const [row] = world.allocationsOf(ID)
    await world.report(row ?? assert.fail(), 'failed')
  }
  const asked = evaluationsOf(world, 'alloc-failure').map((row) => row.JobID)
  assert.deepEqual(asked, ['again'])
})
