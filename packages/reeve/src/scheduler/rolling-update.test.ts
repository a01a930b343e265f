import assert from 'node:assert/strict'
import test from 'node:test'
import { Deployment, type Input, type Job, type TaskGroup } from '@reeve/contract'
import { Value } from 'typebox/value'
import { aGroup, aJob, aTask } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'

const MINUTE_MS = 60_000

/** New versions change `user`, which requires a replacement. */
function service(user: string, group: Input<TaskGroup> = {}): Job {
  return aJob({ groups: [aGroup({ Count: 3, Tasks: [aTask({ User: user })], ...group })] })
}

/** A cluster in which the first version is deployed. */
function running(group: Input<TaskGroup> = {}, nodes = 4): World {
  const world = new World(nodes)
  world.register(service('a', group))
  world.obey()
  world.settle()
  return world
}

test('rolling update: first deployment is successful when all are healthy', () => {
  const world = new World(3)
  const first = world.register(service('a'))
  assert.ok(first.deployment)
  assert.deepEqual([...Value.Errors(Deployment, first.deployment)], [])
  assert.deepEqual(
    [first.deployment.Status, first.deployment.StatusDescription],
    ['running', 'Deployment is running'],
  )
  assert.equal(first.evaluation.DeploymentID, first.deployment.ID)
  assert.deepEqual(first.evaluation.QueuedAllocations, { app: 0 })
  assert.ok(first.placements.every((row) => row.DeploymentID === first.deployment?.ID))
  assert.deepEqual(world.deployment?.TaskGroups['app'], {
    AutoRevert: false,
    AutoPromote: false,
    ProgressDeadline: nsFromMs(10 * MINUTE_MS),
    RequireProgressBy: isoFromMs(world.nowMs + 10 * MINUTE_MS),
    Promoted: false,
    PlacedCanaries: null,
    DesiredCanaries: 0,
    DesiredTotal: 3,
    PlacedAllocs: 3,
    HealthyAllocs: 0,
    UnhealthyAllocs: 0,
  })
  world.health(world.live.slice(0, 2), true)
  assert.deepEqual(world.evaluate().deploymentUpdates, [], 'one is not healthy yet')
  world.health(world.live.slice(2), true)
  const [ended] = world.evaluate().deploymentUpdates
  assert.deepEqual(
    [ended?.Status, ended?.StatusDescription],
    ['successful', 'Deployment completed successfully'],
  )
  assert.equal(world.job.Stable, true)
  assert.equal(world.evaluate().deployment, undefined, 'nothing begins anew')
})

test('rolling update: group without deployments does not delay the deployment', () => {
  const plain = aGroup({ Name: 'plain', Update: { MaxParallel: 0 } })
  const world = new World(3)
  world.register(aJob({ groups: [aGroup(), plain] }))
  world.obey()
  const failed = world.live.find((row) => row.TaskGroup === 'plain')
  world.report(failed, { ClientStatus: 'failed' })
  const { followUpEvaluations, deploymentUpdates } = world.evaluate()
  assert.equal(
    followUpEvaluations.length,
    1,
    'its place is taken later, and then nobody looks again',
  )
  assert.equal(deploymentUpdates[0]?.Status, 'successful')
})

test('rolling update: max_parallel 1 updates one index after the other', () => {
  const world = running()
  const second = world.register(service('b'))
  assert.deepEqual(
    [second.stops, second.placements].map((rows) => rows.map((row) => row.Name)),
    [['web.app[0]'], ['web.app[0]']],
  )
  const updates = second.annotations.DesiredTGUpdates['app']
  assert.deepEqual([updates?.DestructiveUpdate, updates?.Ignore], [1, 2])
  assert.equal(world.deployment?.TaskGroups['app']?.DesiredTotal, 3)
  assert.deepEqual(world.evaluate().placements, [], 'the first is not healthy yet')
  const waves = [1, 2].map((index) => {
    world.obey()
    const { placements } = world.evaluate()
    assert.deepEqual(
      placements.map((row) => row.Name),
      [`web.app[${index}]`],
    )
    return placements
  })
  assert.equal(waves.length, 2)
  world.obey()
  assert.equal(world.evaluate().deploymentUpdates[0]?.Status, 'successful')
  assert.ok(world.live.every((row) => row.JobVersion === 1))
  assert.equal(world.job.Stable, true)
})

const limits = [
  { name: 'max_parallel bounds a wave', update: { MaxParallel: 2 }, wave: 2 },
  { name: 'more than there are replaces all', update: { MaxParallel: 9 }, wave: 3 },
  { name: 'max_parallel 0 replaces all at once', update: { MaxParallel: 0 }, wave: 3 },
]
for (const { name, update, wave } of limits)
  test(`rolling update: ${name}`, () => {
    const world = running({ Update: update })
    const { placements, deployment } = world.register(service('b', { Update: update }))
    assert.equal(placements.length, wave)
    assert.equal(deployment !== undefined, update.MaxParallel > 0)
  })

test('rolling update: stops while one is unhealthy', () => {
  const world = running({ Update: { MaxParallel: 2 } })
  const { placements } = world.register(service('b', { Update: { MaxParallel: 2 } }))
  world.health(placements.slice(0, 1), true)
  world.health(placements.slice(1), false)
  assert.deepEqual(world.evaluate().placements, [])
})

test('rolling update: updates nothing while paused or failed', () => {
  for (const Status of ['paused', 'failed'] as const) {
    const world = running()
    world.register(service('b'))
    world.obey()
    world.setDeployment({ Status })
    const { placements, deployment, deploymentUpdates } = world.evaluate()
    assert.deepEqual([placements, deployment, deploymentUpdates], [[], undefined, []], Status)
  }
})

test('rolling update: missing allocations are placed and count as in progress', () => {
  const world = running({ Update: { MaxParallel: 2 } })
  const { placements } = world.register(service('b', { Count: 4, Update: { MaxParallel: 2 } }))
  assert.deepEqual(placements.map((row) => row.Name).toSorted(), ['web.app[0]', 'web.app[3]'])
})

test('rolling update: in-place update is a deployment and resets health', () => {
  const world = running()
  const plan = world.register({ ...service('a'), Priority: 70 })
  assert.equal(plan.updates.length, 3)
  assert.ok(plan.updates.every((row) => row.DeploymentID === plan.deployment?.ID))
  assert.ok(plan.updates.every((row) => row.DeploymentStatus === undefined))
  assert.equal(world.deployment?.TaskGroups['app']?.DesiredTotal, 3)
  world.obey()
  assert.equal(world.evaluate().deploymentUpdates[0]?.Status, 'successful')
})

test('rolling update: scaling or rescheduling creates no deployment', () => {
  const world = running()
  const [row] = world.live
  world.report(row, { ClientStatus: 'failed' })
  world.nowMs += MINUTE_MS
  const plan = world.evaluate()
  assert.equal(plan.placements.length, 1)
  assert.equal(plan.deployment, undefined)
})

test('rolling update: newer version cancels the previous deployment', () => {
  const world = running()
  const second = world.register(service('b'))
  const third = world.register(service('c'))
  assert.deepEqual(
    third.deploymentUpdates.map((row) => [row.ID, row.Status, row.StatusDescription]),
    [[second.deployment?.ID, 'cancelled', 'Cancelled due to newer version of job']],
  )
  assert.notEqual(third.deployment?.ID, second.deployment?.ID)
})

test('rolling update: stopping the job cancels the deployment', () => {
  const world = running()
  const second = world.register(service('b'))
  const { deploymentUpdates, stops } = world.register({ ...world.job, Stop: true })
  assert.deepEqual(
    deploymentUpdates.map((row) => [row.ID, row.StatusDescription]),
    [[second.deployment?.ID, 'Cancelled because job is stopped']],
  )
  assert.equal(stops.length, 3)
})

test('rolling update: failed allocation waits for the deployment watcher', () => {
  const world = running()
  const [row] = world.register(service('b')).placements
  world.health([row], false)
  world.report(row, { ClientStatus: 'failed' })
  world.nowMs += MINUTE_MS
  assert.deepEqual(world.evaluate().placements, [])
  world.report(row, { DesiredTransition: { Reschedule: true } })
  const { placements, stops } = world.evaluate()
  assert.deepEqual(
    [placements[0]?.PreviousAllocation, placements[0]?.Name, stops[0]?.ID],
    [row?.ID, row?.Name, row?.ID],
  )
})

test('rolling update: failure outside a failed deployment is rescheduled', () => {
  const world = running()
  world.register(service('b'))
  world.obey()
  world.setDeployment({ Status: 'failed' })
  const outside = world.live.find((row) => row.JobVersion === 0)
  world.report(outside, { ClientStatus: 'failed' })
  world.nowMs += MINUTE_MS
  assert.deepEqual(
    world.evaluate().placements.map((row) => [row.PreviousAllocation, row.JobVersion]),
    [[outside?.ID, 0]],
  )
})

test('rolling update: a deployment spans all groups', () => {
  const world = new World(2)
  const job = aJob({ groups: [aGroup({ Name: 'a' }), aGroup({ Name: 'b', Count: 2 })] })
  const { deployment } = world.register(job)
  assert.deepEqual(Object.keys(deployment?.TaskGroups ?? {}), ['a', 'b'])
  world.health(
    world.live.filter((row) => row.TaskGroup === 'a'),
    true,
  )
  assert.deepEqual(world.evaluate().deploymentUpdates, [])
  world.obey()
  assert.equal(world.evaluate().deploymentUpdates[0]?.Status, 'successful')
})

test('rolling update: deployment waits for capacity', () => {
  const world = new World(1)
  const group = { Count: 2, Tasks: [aTask({ Resources: { CPU: 3_000 } })] }
  const { deployment, blockedEvaluation } = world.register(aJob({ groups: [aGroup(group)] }))
  assert.equal(deployment?.TaskGroups['app']?.DesiredTotal, 2)
  assert.ok(blockedEvaluation)
  world.obey()
  assert.deepEqual(world.evaluate().deploymentUpdates, [])
})

test('rolling update: batch jobs have no deployments', () => {
  const world = new World(1)
  const job = aJob({ Type: 'batch', groups: [aGroup({ Update: { MaxParallel: 1 } })] })
  assert.equal(world.register(job).deployment, undefined)
})

test('rolling update: no deadline without progress_deadline', () => {
  const world = new World(1)
  world.register(service('a', { Update: { ProgressDeadline: 0 } }))
  assert.equal(world.deployment?.TaskGroups['app']?.RequireProgressBy, ZERO_TIME)
})

test('rolling update: reverted version is deployed like any other', () => {
  const world = running()
  world.register(service('b'))
  world.setDeployment({ Status: 'failed' })
  const { deployment, placements, stops } = world.register(service('a'))
  assert.equal(deployment?.JobVersion, 2)
  // Two run an equal version 0 and are updated in place; one is replaced.
  assert.deepEqual([placements.length, stops.length], [1, 1])
})
