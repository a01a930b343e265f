import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namespacedKey } from '../../src/state/index.ts'
import { aGroup } from '../build/index.ts'
import { until } from '../build/until.ts'
import { register, withScheduler } from './cluster.ts'
import { aListening } from './event-reader.ts'
import { createTestServer } from './harness.ts'

async function aScheduledServer() {
  return await withScheduler(await createTestServer({ aclEnabled: false }))
}

const OF_JOB = { params: { job_id: 'web' } }

/** How the evaluation was made and decided, and when its instances were placed. */
async function registered(world: Awaited<ReturnType<typeof aScheduledServer>>, count: number) {
  const { server, settle } = world
  const job = { TaskGroups: [aGroup({ Count: count })] }
  const { EvalID, JobModifyIndex } = await server.ok('registerJob', register(job))
  await settle()
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
  const allocations = await server.ok('listJobAllocations', OF_JOB)
  return {
    status: evaluation.Status,
    isDecidedAtOnce: evaluation.ModifyIndex === JobModifyIndex,
    placed: allocations.length,
    arePlacedAtOnce: allocations.every((one) => one.CreateIndex === JobModifyIndex),
  }
}

test('at once: a small job is placed by the commit that registers it', async () => {
  const world = await aScheduledServer()
  assert.deepEqual(await registered(world, 2), {
    status: 'complete',
    isDecidedAtOnce: true,
    placed: 2,
    arePlacedAtOnce: true,
  })
  const job = await world.server.ok('readJob', OF_JOB)
  const summary = await world.server.ok('readJobSummary', OF_JOB)
  assert.deepEqual([job.Status, summary.Summary['app']?.Starting], ['running', 2])
})

test('at once: the answer to a large job does not wait for its placement', async () => {
  const found = await registered(await aScheduledServer(), 17)
  assert.deepEqual([found.status, found.isDecidedAtOnce], ['complete', false])
  assert.deepEqual([found.placed > 0, found.arePlacedAtOnce], [true, false])
})

test('at once: the audit record names the job alone, not the deployment beside it', async () => {
  const world = await aScheduledServer()
  await registered(world, 1)
  assert.equal((await world.server.ok('listJobDeployments', OF_JOB)).length, 1)
  const records = await world.server.ok('listAuditRecords', { query: { action: 'registerJob' } })
  assert.deepEqual(
    records.map(({ Resources }) => Resources),
    [['web']],
  )
})

const later = [
  { name: 'a system job, which may be as large as the cluster,', job: { Type: 'system' } },
  { name: 'the same job again', before: {}, job: {} },
  {
    name: 'a job whose many instances end',
    before: { TaskGroups: [aGroup({ Count: 17 })] },
    job: { TaskGroups: [aGroup({ Count: 0 })] },
  },
]
for (const { name, before, job } of later)
  test(`at once: ${name} waits for its turn`, async () => {
    const { server, run, settle } = await aScheduledServer()
    if (before !== undefined) await run(before)
    const { EvalID } = await server.ok('registerJob', register(job))
    await settle()
    const evaluation = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
    assert.equal(evaluation.Status, 'complete')
    assert.ok(evaluation.ModifyIndex > evaluation.CreateIndex)
  })

test('at once: nothing is decided while the operator has paused it', async () => {
  const world = await aScheduledServer()
  const { server } = world
  const before = await server.ok('readSchedulerConfiguration')
  const body = { ...before.SchedulerConfig, PauseEvalBroker: true }
  await server.ok('writeSchedulerConfiguration', { body })
  const { EvalID } = await server.ok('registerJob', register())
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: EvalID } })
  assert.equal(evaluation.Status, 'pending')
})

test('at once: what has no place waits for room, as it does later', async () => {
  const world = await aScheduledServer()
  const { server } = world
  const Tasks = [{ Name: 'main', Driver: 'raw_exec', Resources: { CPU: 1, MemoryMB: 1_000_000 } }]
  const { EvalID } = await server.ok('registerJob', register({ TaskGroups: [aGroup({ Tasks })] }))
  const evaluations = await server.ok('listJobEvaluations', OF_JOB)
  const statuses = evaluations.map(({ ID, Status }) => `${Status} ${ID === EvalID}`)
  assert.deepEqual(statuses.toSorted(), ['blocked false', 'complete true'])
})

/** One instance of it leaves no room for another on the only node. */
function large(ID: string, Priority: number, Count = 1) {
  const Resources = { CPU: 3_000, MemoryMB: 6_000 }
  const Tasks = [{ Name: 'main', Driver: 'raw_exec', Resources }]
  return { ID, Priority, TaskGroups: [aGroup({ Count, Tasks })] }
}

test('at once: a job that makes room for another is not told as registered', async (t) => {
  const { server, run, settle, allocationsOf } = await aScheduledServer()
  const { open, flush } = await aListening(t, server)
  await run({ ...large('low', 10), Type: 'batch' })
  const { SchedulerConfig } = await server.ok('readSchedulerConfiguration')
  const PreemptionConfig = { ...SchedulerConfig.PreemptionConfig, ServiceSchedulerEnabled: true }
  await server.ok('writeSchedulerConfiguration', { body: { ...SchedulerConfig, PreemptionConfig } })
  const { JobModifyIndex } = await server.ok('registerJob', register(large('high', 90)))
  await settle()
  assert.deepEqual(
    allocationsOf('low').map((row) => [row.DesiredStatus, row.ModifyIndex]),
    [['evict', JobModifyIndex]],
  )
  const evaluations = await server.ok('listJobEvaluations', { params: { job_id: 'low' } })
  assert.ok(evaluations.some(({ TriggeredBy }) => TriggeredBy === 'preemption'))
  const reader = await open({ topics: ['Job'] })
  flush()
  await reader.line(({ Index }) => Index !== undefined && Index >= JobModifyIndex)
  const told = reader.events().filter(({ Index }) => Index === JobModifyIndex)
  assert.deepEqual(
    told.map(({ Key, Type }) => `${Key} ${Type}`),
    ['high JobRegistered', 'low PlanResult'],
  )
})

test('at once: what came before and matters more is placed first', async () => {
  const { server, settle, allocationsOf } = await aScheduledServer()
  const { jobs } = server.context.store.tables
  const isThere = (id: string) => (): true | undefined =>
    jobs.has(namespacedKey('default', id)) || undefined
  // The disk is slow: the second one is decided before the loop hears of the first.
  const held = server.engine.faultInjector.blockNext()
  const first = server.ok('registerJob', register(large('first', 90, 17)))
  await until('the first to be applied', isThere('first'))
  const second = server.ok('registerJob', register(large('second', 10)))
  await until('the second to be applied', isThere('second'))
  held.release()
  await Promise.all([first, second])
  await settle()
  assert.deepEqual([allocationsOf('first').length, allocationsOf('second').length], [1, 0])
})
