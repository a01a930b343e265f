import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Job, JobNodeLoss } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { namespacedKey, put } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { anId } from '../build/index.ts'
import { ofJob, putNode, register, withScheduler } from './cluster.ts'
import { aListening } from './event-reader.ts'
import { createTestServer, type TestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const QUARANTINE = {
  Reason: '2 nodes were lost while allocations of version 0 were starting on them: a, b',
  NodeIDs: ['a', 'b'],
  Time: 1,
  Version: 0,
  CreateIndex: 9,
}

function aLoss(retryMs: number): JobNodeLoss {
  return {
    NodeID: anId('node', 1),
    AllocID: anId('alloc', 1),
    Time: nsFromMs(retryMs - 30_000),
    RetryTime: nsFromMs(retryMs),
    ProbeUntil: nsFromMs(retryMs + 50_000),
    CreateIndex: 9,
  }
}

/** What the loss of a node writes of a job. */
async function write(server: TestServer, fields: Partial<Job>): Promise<void> {
  const { store } = server.context
  const job = store.tables.jobs.get(namespacedKey('default', 'web'))
  const { durable } = store.commit({
    by: 'system',
    cause: 'NodeEvent',
    changes: () => [put('jobs', { ...job, ...fields })],
  })
  await durable
}

/** A quarantined job on a server that has room for it. */
async function quarantined() {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }), 0)
  await scheduled.run()
  await write(scheduled.server, { Quarantine: QUARANTINE })
  await putNode(scheduled.server)
  await scheduled.server.ok('evaluateJob', ofJob())
  await scheduled.settle()
  assert.deepEqual(scheduled.allocationsOf('web'), [])
  return scheduled
}

test('release: the job is placed again, and the answer names its evaluation', async () => {
  const { server, settle, allocationsOf } = await quarantined()
  assert.deepEqual((await server.ok('readJob', ofJob())).Quarantine, QUARANTINE)
  const [stub] = await server.ok('listJobs')
  assert.deepEqual(stub?.Quarantine, QUARANTINE)
  const answer = await server.ok('releaseJob', ofJob())
  await settle()
  const job = await server.ok('readJob', ofJob())
  assert.equal('Quarantine' in job, false)
  assert.deepEqual([answer.JobModifyIndex, job.Version], [job.JobModifyIndex, 0])
  assert.equal(allocationsOf('web').length, 1)
  const evaluation = await server.ok('readEvaluation', { params: { eval_id: answer.EvalID } })
  assert.deepEqual([evaluation.JobID, evaluation.TriggeredBy], ['web', 'job-register'])
})

test('release: a delay after the first loss ends too', async () => {
  const { server } = await quarantined()
  const { clock } = server
  await write(server, { NodeLosses: [aLoss(clock.nowMs() + 30_000)] })
  await server.ok('releaseJob', ofJob())
  assert.equal((await server.ok('readJob', ofJob())).NodeLosses, undefined)
})

test('release: a job that is neither quarantined nor delayed is not released', async () => {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', register())
  const [status, text] = await server.refusal('releaseJob', ofJob())
  assert.equal(status, 400)
  assert.match(text, /^job "web" is not quarantined and its placements are not delayed/)
})

test('release: an unknown job is not found', async () => {
  const server = await createTestServer({ aclEnabled: false })
  assert.deepEqual(await server.refusal('releaseJob', ofJob()), [404, 'job not found'])
})

test('release: needs submit-job in the namespace of the job', async () => {
  const { server, root, as, client } = await aSecuredServer()
  await server.ok('registerJob', as(root, register()))
  await write(server, { Quarantine: QUARANTINE })
  const rules = [
    'namespace "other" { policy = "write" }',
    'namespace "default" { policy = "read" }',
    'namespace "default" { capabilities = ["evaluate-job"] }',
    'operator { policy = "write" }',
  ]
  for (const rule of rules)
    assert.deepEqual(
      await server.refusal('releaseJob', as(await client(rule), ofJob())),
      [403, 'Permission denied'],
      rule,
    )
  const submitter = await client('namespace "default" { capabilities = ["submit-job"] }')
  await server.ok('releaseJob', as(submitter, ofJob()))
})

test('release: followers of jobs hear of it', async (t) => {
  const { server } = await quarantined()
  const { open, flush } = await aListening(t, server)
  const reader = await open({ topics: ['Job:web'] })
  const { Index: index } = await server.ok('releaseJob', ofJob())
  flush()
  await reader.line((line) => line.Index === index)
  const types = reader.events().map(({ Type }) => Type)
  assert.equal(types.at(-1), 'JobReleased')
})

test('quarantine: explain says why nothing is placed, and what ends it', async () => {
  const { server } = await quarantined()
  const { Text, Groups } = await server.ok('explainJob', ofJob())
  assert.match(Text, /the job is quarantined: 2 nodes were lost.*reeve job release web$/)
  const states = Groups.flatMap(({ Instances }) => Instances.map(({ State }) => State))
  assert.deepEqual(states, ['held'])
})

test('quarantine: explain says until when a job is delayed after a loss', async () => {
  const { server, run } = await withScheduler(await createTestServer({ aclEnabled: false }), 0)
  await run()
  await putNode(server)
  const retryMs = server.clock.nowMs() + 30_000
  await write(server, { NodeLosses: [aLoss(retryMs)] })
  const { Groups } = await server.ok('explainJob', ofJob())
  const [instance] = Groups.flatMap(({ Instances }) => Instances)
  assert.deepEqual([instance?.State, Date.parse(instance?.WaitUntil ?? '')], ['delayed', retryMs])
})

test('quarantine: whoever registers a job cannot bring one along', async () => {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', register({ Quarantine: QUARANTINE, NodeLosses: [] }))
  const job = await server.ok('readJob', ofJob())
  assert.deepEqual([job.Quarantine, job.NodeLosses], [undefined, undefined])
})

test('quarantine: it is there after a restart', async () => {
  const disk = new MemoryDisk()
  const before = await createTestServer({ aclEnabled: false, disk })
  await before.ok('registerJob', register())
  await write(before, { Quarantine: QUARANTINE, NodeLosses: [aLoss(40_000)] })
  const job = await before.ok('readJob', ofJob())
  await before.close()
  const after = await createTestServer({ aclEnabled: false, disk })
  assert.deepEqual(await after.ok('readJob', ofJob()), job)
})
