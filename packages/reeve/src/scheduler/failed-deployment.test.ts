import assert from 'node:assert/strict'
import test from 'node:test'
import type { DeploymentStatus, Input, Job, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, anId, aNode, aTask, nodes } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import type { AllocationRow } from '../model/index.ts'

const MINUTE_MS = 60_000
/** Two of these fill a node. */
const HALF_A_NODE = { CPU: 1_900 }

/** New versions change `user`, which requires a replacement. */
function service(user: string, group: Input<TaskGroup> = {}, fields: Input<Job> = {}): Job {
  const Tasks = [aTask({ User: user, Resources: HALF_A_NODE })]
  return aJob({ ...fields, groups: [aGroup({ Count: 2, Tasks, ...group })] })
}

/** A cluster of one node on which the first version is deployed. */
function running(group: Input<TaskGroup> = {}, fields: Input<Job> = {}): World {
  const world = new World(1)
  world.register(service('a', group, fields))
  world.obey()
  world.settle()
  assert.equal(world.job.Stable, true)
  return world
}

function join(world: World, n: number): void {
  world.nodes = [...world.nodes, aNode({ ID: anId('node', n), Name: `node-${n}` })]
}

function versions(rows: readonly AllocationRow[]): readonly string[] {
  return rows.map((row) => `${row.Name} version ${row.JobVersion}`).toSorted()
}

const FIRST = ['web.app[0] version 0', 'web.app[1] version 0']

test('failed deployment: lost allocation is placed when a node joins', () => {
  const world = new World(1)
  world.register(service('a'))
  world.health(world.live, true)
  world.setDeployment({ Status: 'failed' })
  world.setNode(world.nodes[0]?.ID ?? '', { Status: 'down' })
  const lost = world.evaluate({ TriggeredBy: 'node-update' })
  assert.deepEqual(lost.placements, [])
  assert.equal(lost.stops.length, 2)
  assert.ok(lost.blockedEvaluation)
  assert.deepEqual(lost.blockedEvaluation.QueuedAllocations, { app: 2 })
  assert.equal(lost.blockedEvaluation.FailedTGAllocs?.['app']?.CoalescedFailures, 1)

  const again = world.evaluate({ ...lost.blockedEvaluation, TriggeredBy: 'queued-allocs' })
  assert.deepEqual([again.evaluation.Status, again.placements], ['blocked', []])

  join(world, 9)
  const { placements, evaluation } = world.evaluate({ ...lost.blockedEvaluation })
  assert.deepEqual(versions(placements), FIRST)
  assert.deepEqual([evaluation.Status, evaluation.QueuedAllocations], ['complete', { app: 0 }])
  assert.ok(placements.every((row) => row.DeploymentID === undefined))
  world.obey()
  assert.equal(world.settle(), 0)
})

const causes: readonly { name: string; strike: (world: World, row: AllocationRow) => void }[] = [
  {
    name: 'lost with its node',
    strike: (world, row) => world.setNode(row.NodeID, { Status: 'down' }),
  },
  {
    name: 'preempted',
    strike: (world, row) => world.report(row, { DesiredStatus: 'evict', ClientStatus: 'complete' }),
  },
  {
    name: 'drained from its node',
    strike: (world, row) => {
      world.setNode(row.NodeID, { SchedulingEligibility: 'ineligible' })
      world.report(row, { DesiredTransition: { Migrate: true } })
    },
  },
  {
    name: 'complete without being stopped',
    strike: (world, row) => world.report(row, { ClientStatus: 'complete' }),
  },
]
const waits: readonly { status: DeploymentStatus; canary: number }[] = [
  { status: 'failed', canary: 0 },
  { status: 'failed', canary: 1 },
  { status: 'paused', canary: 0 },
  { status: 'paused', canary: 1 },
  { status: 'running', canary: 1 },
]
for (const { name, strike } of causes)
  for (const { status, canary } of waits)
    for (const hasCapacity of [true, false])
      test(`${status} deployment${canary > 0 ? ' with a canary' : ''}: what is ${name} is replaced ${hasCapacity ? 'at once' : 'when capacity comes'} by the last stable version`, () => {
        const Update = { Canary: canary }
        const world = running({ Update })
        join(world, 2)
        world.register(service('b', { Update }))
        world.health(
          world.live.filter((row) => row.JobVersion === 1),
          true,
        )
        world.obey()
        world.setDeployment({ Status: status })
        world.settle()
        world.obey()
        const [victim] = world.live.filter((row) => row.JobVersion === 0)
        assert.ok(victim)
        const desired = world.live.length
        const others = new Map(world.nodes.map((node) => [node.ID, node.SchedulingEligibility]))
        if (!hasCapacity)
          for (const { ID } of world.nodes)
            world.setNode(ID, { SchedulingEligibility: 'ineligible' })
        strike(world, victim)
        const first = world.evaluate({ TriggeredBy: 'node-update' })
        if (!hasCapacity) {
          assert.deepEqual(first.placements, [])
          assert.ok(first.blockedEvaluation, 'an evaluation waits for capacity')
          for (const [ID, SchedulingEligibility] of others)
            world.setNode(ID, { SchedulingEligibility })
        }
        world.obey()
        join(world, 3)
        if (!hasCapacity) world.evaluate({ ...first.blockedEvaluation })
        world.settle()
        assert.equal(world.live.length, desired)
        const replacement = world.live.filter(
          (row) => row.Name === victim.Name && row.DeploymentStatus?.Canary !== true,
        )
        assert.deepEqual(versions(replacement), [`${victim.Name} version 0`])
        world.obey()
        assert.equal(world.settle(), 0)
      })

test('failed deployment: healthy allocation is replaced by the same version', () => {
  const world = running()
  join(world, 2)
  const [updated] = world.register(service('b')).placements
  world.obey()
  world.setDeployment({ Status: 'failed' })
  assert.ok(updated)
  world.setNode(updated.NodeID, { Status: 'down' })
  join(world, 3)
  const { placements } = world.evaluate({ TriggeredBy: 'node-update' })
  const replacement = placements.find((row) => row.PreviousAllocation === updated.ID)
  assert.equal(replacement?.JobVersion, 1)
})

test('failed deployment: failed allocation is replaced by the last stable version', () => {
  const world = running()
  join(world, 2)
  const [inside] = world.register(service('b')).placements
  world.obey()
  world.health([inside], false)
  world.report(inside, { ClientStatus: 'failed' })
  world.setDeployment({ Status: 'failed' })
  const early = world.evaluate()
  assert.deepEqual(early.placements, [], 'its reschedule delay is not over')
  assert.equal(early.followUpEvaluations.length, 1)
  world.nowMs += MINUTE_MS
  const { placements } = world.evaluate()
  assert.deepEqual(
    placements.map((row) => [row.PreviousAllocation, row.JobVersion]),
    [[inside?.ID, 0]],
  )
  world.obey()
  assert.deepEqual(versions(world.live), FIRST)
  assert.equal(world.settle(), 0)
})

test('failed deployment: first version follows its reschedule policy', () => {
  const world = new World(1)
  const placed = world.register(service('a')).placements
  world.health(placed, false)
  for (const row of placed) world.report(row, { ClientStatus: 'failed' })
  world.setDeployment({ Status: 'failed' })
  world.nowMs += MINUTE_MS
  assert.deepEqual(versions(world.evaluate().placements), FIRST)
})

test('failed deployment: policy without attempts keeps the failure', () => {
  const world = new World(1)
  const policy = { ReschedulePolicy: { Attempts: 0, Unlimited: false } }
  const placed = world.register(service('a', policy)).placements
  for (const row of placed) world.report(row, { ClientStatus: 'failed' })
  world.setDeployment({ Status: 'failed' })
  world.nowMs += MINUTE_MS
  assert.deepEqual(world.evaluate().placements, [])
})

test('failed deployment: count increased by the failed version is still reached', () => {
  const world = running()
  join(world, 2)
  world.register(service('b', { Count: 4, Update: { Canary: 1 } }))
  world.setDeployment({ Status: 'failed' })
  world.evaluate({ TriggeredBy: 'deployment-watcher' })
  world.obey()
  world.settle()
  assert.deepEqual(versions(world.live), [...FIRST, 'web.app[2] version 0', 'web.app[3] version 0'])
})

test('canary: growth waits for promotion, also while replacing', () => {
  const world = running()
  join(world, 2)
  join(world, 3)
  world.register(service('b', { Count: 4, Update: { Canary: 1 } }))
  const [victim] = world.live.filter((row) => row.JobVersion === 0)
  world.report(victim, { DesiredStatus: 'evict', ClientStatus: 'complete' })
  assert.deepEqual(versions(world.evaluate().placements), [`${victim?.Name} version 0`])
})

test('failed deployment: blocked evaluation accepts any class for an older version', () => {
  const world = running()
  const large = [{ LTarget: '${node.class}', RTarget: 'large', Operand: '=' }]
  world.register({ ...service('b'), Constraints: large })
  world.setDeployment({ Status: 'failed' })
  world.setNode(world.nodes[0]?.ID ?? '', { Status: 'down' })
  const { blockedEvaluation } = world.evaluate({ TriggeredBy: 'node-update' })
  assert.equal(blockedEvaluation?.EscapedComputedClass, true)
  join(world, 2)
  assert.deepEqual(versions(world.evaluate({ ...blockedEvaluation }).placements), FIRST)
})

test('failed deployment: without an older version the current one is used', () => {
  const world = new World(nodes(2))
  world.register(service('a'))
  world.setDeployment({ Status: 'failed' })
  const [victim] = world.live
  world.report(victim, { DesiredStatus: 'evict', ClientStatus: 'complete' })
  assert.deepEqual(versions(world.evaluate().placements), [`${victim?.Name} version 0`])
})

for (const status of ['failed', 'paused'] as const)
  test(`${status} deployment of a system job: joining node gets the last stable version`, () => {
    const system = (user: string): Job =>
      aJob({ Type: 'system', groups: [aGroup({ Tasks: [aTask({ User: user })] })] })
    const world = new World(2)
    world.register(system('a'))
    world.obey()
    world.settle()
    world.register(system('b'))
    world.obey()
    world.setDeployment({ Status: status })
    join(world, 9)
    const { placements } = world.evaluate({ TriggeredBy: 'node-update' })
    assert.deepEqual(
      placements.map((row) => [row.NodeID, row.JobVersion, row.DeploymentID]),
      [[anId('node', 9), 0, undefined]],
    )
    world.obey()
    assert.equal(world.settle(), 0)
  })

test('failed deployment of a system job: preempted allocation returns with capacity', () => {
  const Tasks = [aTask({ Resources: { CPU: 3_000 } })]
  const world = new World(2)
  world.register(aJob({ Type: 'system', groups: [aGroup({ Tasks })] }))
  world.health(world.live, true)
  world.setDeployment({ Status: 'failed' })
  const [victim] = world.live
  assert.ok(victim)
  world.report(victim, { DesiredStatus: 'evict', ClientStatus: 'complete' })
  world.setNode(victim.NodeID, { SchedulingEligibility: 'ineligible' })
  assert.deepEqual(world.evaluate({ TriggeredBy: 'preemption' }).placements, [])
  world.setNode(victim.NodeID, { SchedulingEligibility: 'eligible' })
  const { placements } = world.evaluate({ TriggeredBy: 'queued-allocs' })
  assert.deepEqual(
    placements.map((row) => row.NodeID),
    [victim.NodeID],
  )
})

test('sysbatch: has no deployments; a lost node affects no other', () => {
  const world = new World(2)
  world.register(aJob({ Type: 'sysbatch', groups: [aGroup()] }))
  world.health(world.live, true)
  world.setNode(world.nodes[0]?.ID ?? '', { Status: 'down' })
  world.evaluate({ TriggeredBy: 'node-update' })
  join(world, 9)
  const { placements } = world.evaluate({ TriggeredBy: 'node-update' })
  assert.deepEqual(
    placements.map((row) => row.NodeID),
    [anId('node', 9)],
  )
})

for (const isCollected of [false, true])
  test(`failed deployment: never-stable version is not used${isCollected ? ', also when its deployment is collected' : ''}`, () => {
    const world = new World(nodes(2))
    world.register(service('a'))
    const first = world.deployment?.ID ?? ''
    world.register(service('b'))
    assert.equal(world.deployments.get(first)?.Status, 'cancelled')
    world.setDeployment({ Status: 'failed' })
    if (isCollected) world.deployments.delete(first)
    const [victim] = world.live.filter((row) => row.JobVersion === 1)
    world.report(victim, { DesiredStatus: 'evict', ClientStatus: 'complete' })
    assert.deepEqual(versions(world.evaluate().placements), [`${victim?.Name} version 1`])
  })
