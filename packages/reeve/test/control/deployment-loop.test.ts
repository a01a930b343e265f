import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeploymentLoop } from '../../src/control/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { isTerminal } from '../../src/model/index.ts'
import { jobVersionKey } from '../../src/state/index.ts'
import { MemoryDisk } from '../../src/storage/index.ts'
import { createTestServer } from '../api/harness.ts'
import { aRollout, aRolloutServer, FINAL, minutes, type RolloutServer } from '../api/rollout.ts'

const TWO = { command: '/bin/two' }
const REVERTING = { update: { AutoRevert: true } }

function evaluations({ server }: RolloutServer) {
  return [...server.context.store.tables.evaluations.rows()].filter(
    (row) => row.TriggeredBy === 'deployment-watcher',
  )
}

function stableOf({ server }: RolloutServer, version: number): boolean | undefined {
  const { job_versions } = server.context.store.tables
  return job_versions.find(jobVersionKey('default', 'web', version))?.Stable
}

test('deployment loop: the first deployment ends well when all of it is healthy', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ count: 3 }))
  assert.equal(world.latest().Status, 'running')
  const [first, ...others] = world.live()
  await world.health([first ?? assert.fail()], true)
  assert.equal(world.latest().Status, 'running')
  await world.health(others, true)
  assert.deepEqual(
    [world.latest().Status, world.latest().StatusDescription, stableOf(world, 0)],
    ['successful', 'Deployment completed successfully', true],
  )
  // Three words on health, and one evaluation: before the last nothing could go on.
  const made = evaluations(world)
  assert.deepEqual(
    made.map((row) => [row.DeploymentID, row.Status, row.Priority]),
    [[world.latest().ID, 'complete', 50]],
  )
})

test('deployment loop: health that is written while it looks is seen when it is durable', async () => {
  const world = await aRolloutServer()
  const { server } = world
  await world.run(aRollout({ count: 2 }))
  const [first, second] = world.live()
  assert.ok(first !== undefined && second !== undefined)
  await world.health([first], true)
  await world.report(first, 'running')
  const held = server.engine.faultInjector.blockNext()
  const told = world.health([second], true)
  await held.started
  server.clock.advance(100)
  held.release()
  await told
  assert.equal(world.latest().Status, 'successful')
})

test('deployment loop: a new version is rolled out in batches', async () => {
  const world = await aRolloutServer()
  await world.succeed({ count: 3 })
  await world.run(aRollout({ ...TWO, count: 3 }))
  for (const done of [0, 1, 2]) {
    assert.deepEqual([world.live(0).length, world.live(1).length], [2 - done, done + 1])
    const waiting = world.live(1).filter((row) => row.DeploymentStatus?.Healthy !== true)
    assert.equal(waiting.length, 1, 'one at a time')
    await world.health(waiting, true)
  }
  assert.deepEqual([world.latest().Status, stableOf(world, 1)], ['successful', true])
})

test('deployment loop: what does not concern health makes no evaluation', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout())
  for (const row of world.live()) await world.report(row, 'running')
  await world.pass()
  assert.deepEqual(evaluations(world), [])
})

test('deployment loop: an unhealthy one is replaced when it has failed', async () => {
  const world = await aRolloutServer()
  const ReschedulePolicy = { Unlimited: true, Delay: nsFromMs(5_000), MaxDelay: minutes(1) }
  await world.run(aRollout({ count: 1, group: { ReschedulePolicy } }))
  const [row] = world.live()
  assert.ok(row !== undefined)
  await world.report(row, 'failed')
  assert.equal(
    world.allocationsOf('web')[0]?.FollowupEvalID,
    undefined,
    'the deployment decides when',
  )
  await world.pass()
  const [marked] = world.allocationsOf('web')
  assert.equal(marked?.DesiredTransition?.Reschedule, true)
  await world.pass(5_000)
  const [next] = world.live()
  assert.equal(next?.PreviousAllocation, row.ID)
  assert.equal(next.DeploymentID, world.latest().ID)
  assert.equal(world.latest().TaskGroups['app']?.UnhealthyAllocs, 1)
})

test('deployment loop: a version that cannot come up is taken back', async () => {
  const world = await aRolloutServer()
  await world.succeed({ ...REVERTING, group: FINAL })
  await world.run(aRollout({ ...TWO, ...REVERTING, group: FINAL }))
  const failed = world.latest()
  const [bad] = world.live(1)
  await world.report(bad ?? assert.fail(), 'failed')
  await world.pass()
  const { deployments, evaluations: all } = world.server.context.store.tables
  assert.deepEqual(
    [deployments.get(failed.ID).Status, deployments.get(failed.ID).StatusDescription],
    ['failed', 'Failed due to unhealthy allocations - rolling back to job version 0'],
  )
  const job = world.job()
  assert.deepEqual(
    [job.Version, job.Stable, job.TaskGroups[0]?.Tasks[0]?.Config],
    [2, false, { command: '/bin/one' }],
  )
  // One commit: nobody sees the one without the other.
  const [evaluation] = [...all.rows()].filter(
    (row) => row.CreateIndex === deployments.get(failed.ID).ModifyIndex,
  )
  assert.deepEqual(
    [job.JobModifyIndex, evaluation?.JobModifyIndex, evaluation?.TriggeredBy],
    [deployments.get(failed.ID).ModifyIndex, job.JobModifyIndex, 'deployment-watcher'],
  )
  assert.equal(world.latest().JobVersion, 2)
  await world.health(world.live(2), true)
  assert.deepEqual([world.latest().Status, stableOf(world, 2)], ['successful', true])
})

test('deployment loop: without a stable version there is nothing to go back to', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ ...REVERTING, count: 1, group: FINAL }))
  await world.health(world.live(), false)
  assert.deepEqual(
    [world.latest().StatusDescription, world.job().Version],
    ['Failed due to unhealthy allocations - no stable job version to auto revert to', 0],
  )
})

test('deployment loop: a rollback that fails itself is not rolled back to the same', async () => {
  const world = await aRolloutServer()
  await world.succeed({ ...REVERTING, count: 1, group: FINAL })
  await world.run(aRollout({ ...TWO, ...REVERTING, count: 1, group: FINAL }))
  await world.health(world.live(1), false)
  // The old version again, which now does not come up either.
  await world.health(world.live(2), false)
  assert.equal(
    world.latest().StatusDescription,
    'Failed due to unhealthy allocations - not rolling back to stable job version 0 as current job has same specification',
  )
  assert.equal(world.job().Version, 2)
})

test('deployment loop: a system job is rolled out by the same rules', async () => {
  const world = await aRolloutServer()
  const system = (command: string) => {
    const { TaskGroups, ...job } = aRollout({ command, count: 1 })
    return { ...job, Type: 'system', TaskGroups }
  }
  await world.run(system('/bin/one'))
  await world.health(world.live(0), true)
  assert.deepEqual([world.latest().Status, stableOf(world, 0)], ['successful', true])
  await world.run(system('/bin/two'))
  assert.deepEqual([world.live(0).length, world.live(1).length], [0, 1])
  await world.health(world.live(1), true)
  assert.deepEqual([world.latest().Status, stableOf(world, 1)], ['successful', true])
})

test('deployment loop: a system job that always fails is placed once, and its deployment fails', async () => {
  const world = await aRolloutServer()
  await world.run({ ...aRollout({ count: 1 }), Type: 'system' })
  for (let round = 0; round < 10; round++) {
    for (const row of world.live()) await world.report(row, 'failed')
    await world.pass(1_000)
  }
  assert.equal(world.allocationsOf('web').length, 1)
  assert.deepEqual(
    [world.latest().Status, world.latest().StatusDescription],
    ['failed', 'Failed due to unhealthy allocations'],
  )
  assert.ok(evaluations(world).length <= 2)
})

test('deployment loop: a version of a system job that fails is taken back', async () => {
  const world = await aRolloutServer()
  const system = (command: string) => ({
    ...aRollout({ ...REVERTING, command, count: 1 }),
    Type: 'system',
  })
  await world.run(system('/bin/one'))
  await world.health(world.live(0), true)
  await world.run(system('/bin/two'))
  await world.report(world.live(1)[0] ?? assert.fail(), 'failed')
  await world.pass()
  assert.deepEqual(
    world.job().TaskGroups[0]?.Tasks[0]?.Config,
    { command: '/bin/one' },
    'the version that was well is back',
  )
  assert.equal(world.live(2).length, 1, 'and runs')
})

// Time

const HURRIED = {
  MinHealthyTime: 0,
  HealthyDeadline: minutes(5),
  ProgressDeadline: minutes(10),
}

test('deployment loop: no progress in time is a failure, to the millisecond', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ update: HURRIED }))
  const dueMs = Date.parse(world.latest().TaskGroups['app']?.RequireProgressBy ?? '')
  await world.pass(dueMs - world.server.clock.nowMs() - 1)
  assert.equal(world.latest().Status, 'running')
  await world.pass(1)
  assert.deepEqual(
    [world.latest().Status, world.latest().StatusDescription],
    ['failed', 'Failed due to progress deadline'],
  )
})

test('deployment loop: each one that becomes healthy gives the next the whole time', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ update: HURRIED }))
  await world.pass(9 * 60_000)
  const [first] = world.live()
  await world.health([first ?? assert.fail()], true)
  await world.pass(9 * 60_000)
  assert.equal(world.latest().Status, 'running')
  await world.pass(60_000)
  assert.equal(world.latest().Status, 'failed')
})

test('deployment loop: a paused one has all the time', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ update: HURRIED }))
  const { ID } = world.latest()
  const pause = (Pause: boolean) =>
    world.server.ok('pauseDeployment', {
      params: { deployment_id: ID },
      body: { DeploymentID: ID, Pause },
    })
  await pause(true)
  await world.pass(60 * 60_000)
  assert.equal(world.latest().Status, 'paused')
  await pause(false)
  await world.pass(9 * 60_000)
  assert.equal(world.latest().Status, 'running')
  await world.pass(60_000)
  assert.equal(world.latest().Status, 'failed')
})

// Canaries

test('deployment loop: canaries that promote themselves are promoted when all are healthy', async () => {
  const world = await aRolloutServer()
  await world.succeed({ count: 2 })
  const update = { Canary: 2, AutoPromote: true, MaxParallel: 2 }
  await world.run(aRollout({ ...TWO, count: 2, update }))
  assert.equal(
    world.latest().StatusDescription,
    'Deployment is running pending automatic promotion',
  )
  const [first, second] = world.live(1)
  await world.health([first ?? assert.fail()], true)
  assert.equal(world.latest().TaskGroups['app']?.Promoted, false)
  assert.equal(world.live(0).length, 2)
  await world.health([second ?? assert.fail()], true)
  assert.equal(world.latest().TaskGroups['app']?.Promoted, true)
  assert.deepEqual(
    world.live().map((row) => [row.JobVersion, row.DeploymentStatus?.Canary]),
    [
      [1, false],
      [1, false],
    ],
  )
  await world.pass()
  assert.equal(world.latest().Status, 'successful')
})

// Restarts

test('deployment loop: a server that starts again finds what happened while none watched', async () => {
  const disk = new MemoryDisk()
  const before = await aRolloutServer(await createTestServer({ aclEnabled: false, disk }), false)
  await before.run(aRollout({ update: HURRIED }))
  for (const row of before.live())
    await before.report(row, 'running', {
      DeploymentStatus: { Healthy: true, Timestamp: '', Canary: false, ModifyIndex: 0 },
    })
  assert.equal(before.latest().Status, 'running')
  before.loop.start()
  await before.pass(0)
  assert.equal(before.latest().Status, 'successful')
})

test('deployment loop: a deadline that passed while none watched is found at the start', async () => {
  const world = await aRolloutServer(undefined, false)
  await world.run(aRollout({ update: HURRIED }))
  await world.pass(20 * 60_000)
  assert.equal(world.latest().Status, 'running')
  world.loop.start()
  await world.pass(0)
  assert.equal(world.latest().Status, 'failed')
})

test('deployment loop: after it was stopped it does nothing any more', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ update: HURRIED }))
  world.loop.stop()
  await world.health(world.live(), true)
  await world.pass(20 * 60_000)
  assert.equal(world.latest().Status, 'running')
})

test('deployment loop: a job that is stopped is left to its evaluation', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ update: HURRIED }))
  await world.server.ok('stopJob', { params: { job_id: 'web' } })
  await world.settle()
  assert.equal(world.latest().StatusDescription, 'Cancelled because job is stopped')
  await world.pass(20 * 60_000)
  assert.equal(world.latest().Status, 'cancelled')
  assert.ok(world.allocationsOf('web').every(isTerminal))
})

test('deployment loop: a storage fault is logged and retried', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const { clock } = server
  const { store, ids } = server.context
  const warned: string[] = []
  const silent = (): void => undefined
  const log = {
    info: silent,
    error: silent,
    warn: (_: object, text: string) => void warned.push(text),
  }
  const world = await aRolloutServer(server, false)
  await world.run(aRollout({ update: HURRIED }))
  await world.pass(20 * 60_000)
  const loop = new DeploymentLoop({ store, clock, ids, log, checkClock: silent })
  await store.close()
  loop.start()
  clock.advance(0)
  assert.deepEqual(warned, ['a deployment could not go on'])
  clock.advance(1_000)
  assert.equal(warned.length, 2)
  loop.stop()
})
