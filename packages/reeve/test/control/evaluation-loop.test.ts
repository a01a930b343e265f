import { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evaluation, Job } from '@reeve/contract'
import { EvaluationBroker, EvaluationLoop, StateView } from '../../src/control/index.ts'
import { DEFAULT_SCHEDULER_CONFIGURATION, newSummary, type NodeRow } from '../../src/model/index.ts'
import { put, type Change } from '../../src/state/index.ts'
import { aGroup, aJob, anEvaluation, anId, aNode, aTask } from '../build/index.ts'
import { countedIds, seededRandom } from '../build/ids.ts'
import { aStore, turn } from '../build/store.ts'
import { until } from '../build/until.ts'

async function aLoop(placementsMax?: number) {
  const { store, clock } = await aStore()
  const errors: object[] = []
  const log = {
    error: (fields: object) => void errors.push(fields),
    warn: () => undefined,
    info: () => undefined,
  }
  const view = new StateView(store)
  const capacity = new StateCapacity()
  const [ids, random] = [countedIds(), seededRandom(1)]
  let elapsedNs = 0
  const newLoop = (): EvaluationLoop =>
    // A stopwatch that never says the same: how long a look took is no news.
    new EvaluationLoop({
      store,
      view,
      clock,
      ids,
      random,
      log,
      capacity,
      broker: new EvaluationBroker({ store, clock }),
      monotonicNs: () => (elapsedNs += 7),
      ...(placementsMax !== undefined && { placementsMax }),
    })
  const loop = newLoop()
  const write = (...changes: readonly Change[]): Promise<void> =>
    store.commit({ by: 'system', cause: undefined, changes: () => changes }).durable
  const statusOf = (id: string): string | undefined => store.tables.evaluations.find(id)?.Status
  const reached = (id: string, status: string): Promise<true> =>
    until(`${id} to be ${status}`, () => statusOf(id) === status || undefined)
  return { store, clock, loop, newLoop, errors, capacity, write, statusOf, reached }
}

function node(i: number, fields: Partial<NodeRow> = {}): Change {
  const { SecretID: _secret, ...row } = aNode({ ID: anId('node', i) })
  return put('nodes', { ...row, SecretHash: '', ...fields })
}

function submitted(job: Job, fields: Partial<Evaluation> = {}): readonly Change[] {
  return [
    put('jobs', job),
    put('job_versions', job),
    put('job_summaries', newSummary(job)),
    put('evaluations', anEvaluation(job, fields)),
  ]
}

/** A job whose one instance needs more than a plain node has. */
function aHugeJob(): Job {
  const task = aTask()
  const Resources = { ...task.Resources, MemoryMB: 1_000_000 }
  return aJob({ ID: 'huge', TaskGroups: [aGroup({ Tasks: [{ ...task, Resources }] })] })
}

test('evaluation loop: what waits at the start is carried out', async () => {
  const { store, loop, write, reached } = await aLoop()
  await write(node(1), ...submitted(aJob(), { ID: anId('eval', 1) }))
  loop.start()
  await reached(anId('eval', 1), 'complete')
  assert.equal(store.tables.allocations.size, 1)
  await loop.stop()
})

test('evaluation loop: several that wait for one job are settled by the newest', async () => {
  const { store, loop, write, statusOf, reached } = await aLoop()
  const [first, second] = [anId('eval', 1), anId('eval', 2)]
  await write(node(1), ...submitted(aJob(), { ID: first }))
  await write(put('evaluations', anEvaluation(aJob(), { ID: second })))
  loop.start()
  await reached(second, 'complete')
  assert.deepEqual(
    [statusOf(first), store.tables.evaluations.find(first)?.StatusDescription],
    ['canceled', `superseded by evaluation "${second}"`],
  )
  await loop.stop()
})

test('evaluation loop: while the state may not grow, only what stops is carried out', async () => {
  const { store, clock, loop, capacity, write, statusOf, reached } = await aLoop()
  const [placing, stopping] = [anId('eval', 1), anId('eval', 2)]
  const stopped = aJob({ ID: 'stopped', Stop: true })
  capacity.setShortage('it is used up')
  await write(node(1), ...submitted(aJob(), { ID: placing }))
  await write(...submitted(stopped, { ID: stopping, JobID: stopped.ID }))
  loop.start()
  await reached(stopping, 'complete')
  clock.advance(5_000)
  assert.equal(statusOf(placing), 'pending')
  capacity.setShortage(undefined)
  clock.advance(1_000)
  await reached(placing, 'complete')
  assert.equal(store.tables.allocations.size, 1)
  await loop.stop()
})

test('evaluation loop: one that is over when the state may grow again takes no other with it', async () => {
  const { store, clock, loop, capacity, write, reached } = await aLoop()
  const [waiting, urgent] = [anId('eval', 1), anId('eval', 2)]
  capacity.setShortage('it is used up')
  await write(node(1), ...submitted(aJob(), { ID: waiting, Priority: 20 }))
  await write(put('evaluations', anEvaluation(aJob(), { ID: urgent, Priority: 50 })))
  loop.start()
  await turn()
  await write(put('evaluations', { ...store.tables.evaluations.get(urgent), Status: 'canceled' }))
  capacity.setShortage(undefined)
  clock.advance(1_000)
  await reached(waiting, 'complete')
  assert.equal(store.tables.allocations.size, 1)
  await loop.stop()
})

test('evaluation loop: a paused broker lets nothing through until it is let go', async () => {
  const { clock, loop, write, statusOf, reached } = await aLoop()
  const paused = (PauseEvalBroker: boolean): Change =>
    put('settings', {
      ...DEFAULT_SCHEDULER_CONFIGURATION,
      Name: 'scheduler-configuration',
      PauseEvalBroker,
    })
  await write(paused(true), node(1), ...submitted(aJob(), { ID: anId('eval', 1) }))
  loop.start()
  await turn()
  clock.advance(1_000)
  await turn()
  assert.equal(statusOf(anId('eval', 1)), 'pending')
  await write(paused(false))
  await reached(anId('eval', 1), 'complete')
  await loop.stop()
})

async function aBlockedJob() {
  const world = await aLoop()
  await world.write(node(1), ...submitted(aHugeJob(), { ID: anId('eval', 1) }))
  world.loop.start()
  await world.reached(anId('eval', 1), 'complete')
  const [blocked] = world.store.tables.evaluations.rowsByIndex('status', 'blocked')
  const blockedId = blocked?.ID ?? assert.fail('nothing is blocked')
  const snapshot = (): number => world.store.tables.evaluations.get(blockedId).SnapshotIndex
  return { ...world, blockedId, snapshot }
}

test('evaluation loop: a node of a new class lets what is blocked try again', async () => {
  const { store, clock, loop, write, reached, blockedId } = await aBlockedJob()
  const { NodeResources } = aNode()
  const Memory = { ...NodeResources.Memory, MemoryMB: 2_000_000 }
  await write(node(2, { ComputedClass: 'v1:2', NodeResources: { ...NodeResources, Memory } }))
  clock.advance(20)
  await reached(blockedId, 'complete')
  assert.equal(store.tables.allocations.size, 1)
  await loop.stop()
})

test('evaluation loop: a node of a class that was refused leaves it asleep', async () => {
  const { store, clock, loop, write, reached, blockedId, snapshot } = await aBlockedJob()
  const before = store.tables.evaluations.get(blockedId)
  await write(put('evaluations', { ...before, ClassEligibility: { 'v1:9': false } }))
  const seen = snapshot()
  await write(node(9, { ComputedClass: 'v1:9' }))
  clock.advance(20)
  // Another evaluation goes through the loop after it: had it been woken, it would be done by now.
  await write(
    ...submitted(aJob({ ID: 'probe', Priority: 1 }), { ID: anId('eval', 7), Priority: 1 }),
  )
  await reached(anId('eval', 7), 'complete')
  assert.equal(snapshot(), seen)
  await loop.stop()
})

test('evaluation loop: what is still blocked for the same reasons is not written again', async () => {
  const { store, clock, loop, write, reached, blockedId, newLoop } = await aBlockedJob()
  const blocked = (): Evaluation => store.tables.evaluations.get(blockedId)
  // Its first look tells of the deployment that was made with it.
  await write(node(1))
  clock.advance(20)
  await until('a first look', () => blocked().DeploymentID !== '' || undefined)
  const { ModifyIndex } = blocked()
  // Another leader looks at all that waits, and then at what a node that dials again may take.
  await loop.stop()
  const next = newLoop()
  next.start()
  clock.advance(20)
  await write(node(1))
  clock.advance(20)
  await write(
    ...submitted(aJob({ ID: 'probe', Priority: 1 }), { ID: anId('eval', 7), Priority: 1 }),
  )
  await reached(anId('eval', 7), 'complete')
  assert.equal(blocked().ModifyIndex, ModifyIndex)
  // A node more is news, though it has no room either: what was looked at is told.
  await write(node(2, { ComputedClass: 'v1:2' }))
  clock.advance(20)
  const looked = (): unknown => blocked().FailedTGAllocs?.['app']?.NodesEvaluated
  await until('it to tell of it', () => looked() === 2 || undefined)
  await next.stop()
})

test('evaluation loop: a mistake of ours fails the evaluation and is tried again later', async () => {
  const { store, clock, loop, errors, write, reached } = await aLoop()
  // No scheduler can make anything of a job without groups, and so no type allows it.
  const broken = { ...aJob(), TaskGroups: null } as unknown as Job
  await write(
    put('jobs', broken),
    put('evaluations', anEvaluation(aJob(), { ID: anId('eval', 1) })),
  )
  loop.start()
  await reached(anId('eval', 1), 'failed')
  assert.equal(errors.length, 1)
  const failed = store.tables.evaluations.get(anId('eval', 1))
  const retry = store.tables.evaluations.get(failed.NextEval)
  const delayMs = Date.parse(retry.WaitUntil) - clock.nowMs()
  assert.deepEqual([retry.Status, retry.TriggeredBy], ['pending', 'failed-follow-up'])
  assert.equal(retry.PreviousEval, failed.ID)
  assert.ok(delayMs >= 60_000 && delayMs <= 360_000, `it waits ${delayMs} ms`)
  await loop.stop()
})

const BIG = anId('eval', 1)

/** Two groups of five, of which a plain node has room for so many instances at most. */
function aBigJob(perNode = 20): Job {
  const { MemoryMB } = aNode().NodeResources.Memory
  const Resources = { CPU: 1, MemoryMB: Math.floor(MemoryMB / perNode) }
  const group = (Name: string) =>
    aGroup({ Name, Count: 5, Tasks: [aTask({ Resources })], EphemeralDisk: { SizeMB: 1 } })
  return aJob({ ID: 'big', TaskGroups: [group('a'), group('b')] })
}

test('evaluation loop: a large job is placed by several plans of one deployment', async () => {
  const { store, loop, write, reached, errors } = await aLoop(3)
  const { allocations, evaluations, deployments } = store.tables
  await write(node(1), node(2), ...submitted(aBigJob(), { ID: BIG }))
  const waiting: number[] = []
  store.log.subscribe(() => {
    const { Status, QueuedAllocations } = evaluations.get(BIG)
    const queued = Object.values(QueuedAllocations ?? {}).reduce((sum, one) => sum + one, 0)
    if (Status === 'pending') waiting.push(queued)
  })
  loop.start()
  await reached(BIG, 'complete')
  assert.deepEqual(waiting, [7, 4, 1], 'three at a time')
  const rows = [...allocations.keys('')].map((id) => allocations.get(id))
  assert.equal(new Set(rows.map(({ Name }) => Name)).size, 10)
  const [deployment, ...others] = [...deployments.keys('')].map((id) => deployments.get(id))
  assert.deepEqual(others, [])
  assert.ok(rows.every(({ DeploymentID }) => DeploymentID === deployment?.ID))
  const states = Object.values(deployment?.TaskGroups ?? {})
  assert.deepEqual(
    states.map(({ DesiredTotal, PlacedAllocs }) => [DesiredTotal, PlacedAllocs]),
    [
      [5, 5],
      [5, 5],
    ],
  )
  assert.deepEqual(errors, [])
  await loop.stop()
})

test('evaluation loop: another job is placed between the plans of a large one', async () => {
  const { store, loop, write, reached } = await aLoop(1)
  const small = anId('eval', 2)
  await write(node(1), ...submitted(aBigJob(), { ID: BIG }))
  await write(...submitted(aJob({ ID: 'small' }), { ID: small }))
  loop.start()
  await reached(small, 'complete')
  await reached(BIG, 'complete')
  const { allocations, evaluations } = store.tables
  assert.ok(evaluations.get(small).ModifyIndex < evaluations.get(BIG).ModifyIndex)
  assert.equal(allocations.size, 11)
  await loop.stop()
})

test('evaluation loop: the last plan of a large job reports what is missing', async () => {
  const { store, loop, write, reached } = await aLoop(4)
  await write(node(1), ...submitted(aBigJob(8), { ID: BIG }))
  loop.start()
  await reached(BIG, 'complete')
  const { tables } = store
  const { FailedTGAllocs, BlockedEval } = tables.evaluations.get(BIG)
  const placed = tables.allocations.size
  assert.ok(placed >= 5 && placed < 10, `${placed} were placed`)
  const missing = Object.values(FailedTGAllocs ?? {}).map((one) => one.CoalescedFailures + 1)
  assert.equal(
    missing.reduce((sum, one) => sum + one, 0),
    10 - placed,
  )
  assert.equal(tables.evaluations.get(BlockedEval).Status, 'blocked')
  await loop.stop()
})

test('evaluation loop: a new leader continues with a large job', async () => {
  const { store, loop, newLoop, write, reached, statusOf } = await aLoop(1)
  await write(node(1), ...submitted(aBigJob(), { ID: BIG }))
  const stopped = Promise.withResolvers<void>()
  store.log.subscribe(() => {
    if (store.tables.allocations.size === 2) void loop.stop().then(stopped.resolve)
  })
  loop.start()
  await stopped.promise
  assert.equal(statusOf(BIG), 'pending')
  const next = newLoop()
  next.start()
  await reached(BIG, 'complete')
  assert.equal(store.tables.allocations.size, 10)
  await next.stop()
})

test('evaluation loop: evaluations that a large job supersedes are settled by its last plan', async () => {
  const { loop, write, reached, statusOf } = await aLoop(4)
  const later = anId('eval', 2)
  await write(node(1), ...submitted(aBigJob(), { ID: BIG }))
  await write(put('evaluations', anEvaluation(aBigJob(), { ID: later })))
  loop.start()
  await reached(later, 'complete')
  assert.equal(statusOf(BIG), 'canceled')
  await loop.stop()
})

test('evaluation loop: a system job on many nodes is placed by several plans', async () => {
  const { store, loop, write, reached } = await aLoop(2)
  const nodes = Array.from({ length: 7 }, (_, i) => node(i + 1))
  await write(...nodes, ...submitted(aJob({ Type: 'system' }), { ID: BIG }))
  loop.start()
  await reached(BIG, 'complete')
  const { allocations } = store.tables
  const used = new Set([...allocations.keys('')].map((id) => allocations.get(id).NodeID))
  assert.equal(used.size, 7)
  await loop.stop()
})
