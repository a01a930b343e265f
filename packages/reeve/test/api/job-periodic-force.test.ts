import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { namespacedKey } from '../../src/state/index.ts'
import { aGroup } from '../build/index.ts'
import { ofJob, PARAMETERIZED, PERIODIC, register } from './cluster.ts'
import { createTestServer, type TestServer } from './harness.ts'

const START_SECONDS = 1_767_225_600
const CHILD = `web/periodic-${START_SECONDS}`

async function aServer(...jobs: readonly Input<Job>[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const job of jobs) await server.ok('registerJob', register(job))
  return server
}

test('force: launches a child now and answers its evaluation', async () => {
  const server = await aServer({ ...PERIODIC, Priority: 20 })
  const reply = await server.call('forcePeriodicJob', ofJob())
  const evaluations = await server.ok('listJobEvaluations', ofJob(CHILD))
  assert.deepEqual(reply.body, { EvalID: evaluations[0]?.ID, EvalCreateIndex: 3, Index: 3 })
  assert.equal(reply.index, 3)
  assert.deepEqual(
    evaluations.map((one) => [one.TriggeredBy, one.Priority, one.JobModifyIndex]),
    [['periodic-job', 20, 3]],
  )
  const child = await server.ok('readJob', ofJob(CHILD))
  assert.deepEqual(
    [child.Name, child.ParentID, child.Periodic, child.Status, child.Version],
    [CHILD, 'web', null, 'pending', 0],
  )
  assert.deepEqual((await server.ok('readJobSummary', ofJob())).Children, {
    Pending: 1,
    Running: 0,
    Dead: 0,
  })
})

test('force: leaves the schedule as it was', async () => {
  const server = await aServer(PERIODIC)
  const { periodic_launches } = server.context.store.tables
  const record = periodic_launches.get(namespacedKey('default', 'web'))
  server.clock.advance(30_000)
  await server.ok('forcePeriodicJob', ofJob())
  assert.deepEqual(periodic_launches.get(namespacedKey('default', 'web')), record)
})

test('force: launches beside a running instance where overlap is prohibited', async () => {
  const server = await aServer({
    ...PERIODIC,
    Periodic: { Spec: '* * * * *', ProhibitOverlap: true },
  })
  await server.ok('forcePeriodicJob', ofJob())
  server.clock.advance(1_000)
  await server.ok('forcePeriodicJob', ofJob())
  const { Children } = await server.ok('readJobSummary', ofJob())
  assert.equal(Children.Pending, 2)
})

test('force: each one is a new instance, also in the same second', async () => {
  const server = await aServer(PERIODIC)
  await server.ok('forcePeriodicJob', ofJob())
  await server.ok('registerJob', register({ ...PERIODIC, TaskGroups: [aGroup({ Count: 4 })] }))
  await server.ok('forcePeriodicJob', ofJob())
  const instances = [
    { id: CHILD, count: 1 },
    { id: `web/periodic-${START_SECONDS - 1}`, count: 4 },
  ]
  for (const { id, count } of instances) {
    const child = await server.ok('readJob', ofJob(id))
    assert.deepEqual([child.Version, child.TaskGroups[0]?.Count], [0, count])
    assert.equal((await server.ok('listJobEvaluations', ofJob(id))).length, 1)
  }
  assert.equal((await server.ok('readJobSummary', ofJob())).Children.Pending, 2)
})

const refusals: readonly {
  name: string
  job: Input<Job>
  jobId?: string
  want: readonly [number, string]
}[] = [
  { name: 'an unknown job', job: PERIODIC, jobId: 'gone', want: [404, 'job not found'] },
  {
    name: 'a job that is not periodic',
    job: {},
    want: [400, "can't force launch non-periodic job"],
  },
  {
    name: 'a disabled job',
    job: { ...PERIODIC, Periodic: { Spec: '* * * * *', Enabled: false } },
    want: [
      400,
      'force launch for job "web" failed: can\'t force run non-tracked job "web" (default)',
    ],
  },
  {
    name: 'a job that waits for its dispatch',
    job: { ...PERIODIC, ...PARAMETERIZED },
    want: [
      400,
      'force launch for job "web" failed: can\'t force run non-tracked job "web" (default)',
    ],
  },
]
for (const { name, job, jobId, want } of refusals)
  test(`force: ${name} is refused, and nothing is written`, async () => {
    const server = await aServer(job)
    const before = server.context.store.index
    assert.deepEqual(await server.refusal('forcePeriodicJob', ofJob(jobId)), want)
    assert.equal(server.context.store.index, before)
  })

test('force: a stopped job is refused', async () => {
  const server = await aServer(PERIODIC)
  await server.ok('stopJob', ofJob())
  const [status, text] = await server.refusal('forcePeriodicJob', ofJob())
  assert.equal(status, 400)
  assert.match(text, /can't force run non-tracked job "web"/)
})

test('record: is there while the job is launched by time, and only then', async () => {
  const server = await aServer(PERIODIC)
  const { periodic_launches } = server.context.store.tables
  const has = (): boolean => periodic_launches.has(namespacedKey('default', 'web'))
  assert.equal(has(), true)
  await server.ok('stopJob', ofJob())
  assert.equal(has(), false)
  await server.ok('registerJob', register(PERIODIC))
  assert.equal(has(), true)
  await server.ok('stopJob', ofJob('web', { purge: true }))
  assert.equal(periodic_launches.size, 0)
})
