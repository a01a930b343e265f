import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEPLOYMENT_STATUSES, type DeploymentStatus, type V1RouteId } from '@reeve/contract'
import {
  groupStateOf,
  newDeployment,
  newGroupState,
  withGroupStates,
} from '../../src/model/index.ts'
import { put } from '../../src/state/index.ts'
import { aJob, anAllocation, anId, NOW_MS } from '../build/index.ts'
import { eventsAfter } from './rollout-events.ts'
import { createTestServer, type CallOptions, type TestServer } from './harness.ts'
import { aRollout, aRolloutServer, FINAL, type RolloutServer } from './rollout.ts'
import { aSecuredServer } from './secured.ts'

const ID = anId('any', 1)
const NOBODY = anId('any', 9)
const TWO = { command: '/bin/two' }

/** A call of a route for a deployment, with the body that names it. */
function call(id: string, body: object = {}): CallOptions {
  return { params: { deployment_id: id }, body: { DeploymentID: id, ...body } }
}

// Refusals that all of them have

const WRITES = {
  failDeployment: { text: "can't fail terminal deployment", body: {} },
  pauseDeployment: { text: "can't pause terminal deployment", body: { Pause: true } },
  promoteDeployment: { text: "can't promote terminal deployment", body: { All: true } },
  setDeploymentHealth: {
    text: "can't set health of allocations for a terminal deployment",
    body: { HealthyAllocationIDs: [anId('alloc', 1)] },
  },
  unblockDeployment: { text: "can't unblock terminal deployment", body: {} },
} as const satisfies Partial<Record<V1RouteId, object>>
// Object.keys of a literal gives exactly its names.
const ROUTES = Object.keys(WRITES) as readonly (keyof typeof WRITES)[]

async function withDeployment(server: TestServer, status: DeploymentStatus = 'running') {
  const job = aJob()
  const empty = newDeployment(job, { id: ID, timeMs: NOW_MS, priority: 50 })
  const state = newGroupState(job.TaskGroups[0]?.Update ?? assert.fail())
  const row = { ...withGroupStates(empty, new Map([['app', state]])), Status: status }
  await server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [put('deployments', row), put('jobs', job)],
  }).durable
  return server
}

for (const route of ROUTES) {
  const { body, text } = WRITES[route]

  test(`${route}: an unknown deployment is not found`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    assert.deepEqual(await server.refusal(route, call(NOBODY, body)), [404, 'deployment not found'])
    assert.deepEqual(await server.refusal(route, call('x', body)), [
      400,
      'deployment lookup failed: UUID must be 36 characters',
    ])
  })

  for (const status of ['failed', 'successful', 'cancelled'] as const)
    test(`${route}: one that is ${status} takes no change`, async () => {
      const server = await withDeployment(await createTestServer({ aclEnabled: false }), status)
      assert.deepEqual(await server.refusal(route, call(ID, body)), [400, text])
    })

  test(`${route}: who may only read is denied, who may not even that finds nothing`, async () => {
    const { server, as, client } = await aSecuredServer()
    await withDeployment(server)
    const reader = await client('namespace "default" { policy = "read" }')
    const stranger = await client('namespace "other" { policy = "write" }')
    const both = await client(
      'namespace "other" { policy = "write" }\nnamespace "default" { policy = "read" }',
    )
    const answers = await Promise.all(
      [reader, both, stranger].map((one) => server.refusal(route, as(one, call(ID, body)))),
    )
    assert.deepEqual(answers, [
      [403, 'Permission denied'],
      [403, 'Permission denied'],
      [404, 'deployment not found'],
    ])
  })

  if (route === 'failDeployment') continue
  test(`${route}: the body must be there and name the deployment`, async () => {
    const server = await withDeployment(await createTestServer({ aclEnabled: false }))
    const { params } = call(ID)
    const refused = (sent: unknown) =>
      server.refusal(route, { params: params ?? {}, ...(sent === undefined ? {} : { body: sent }) })
    assert.deepEqual(await refused(undefined), [400, 'Request body is empty'])
    assert.deepEqual(await refused(body), [400, 'DeploymentID must be specified'])
    assert.deepEqual(await refused({ ...body, DeploymentID: NOBODY }), [
      400,
      'Deployment ID does not match',
    ])
  })
}

test('resume deployment: one that has ended stays ended', async () => {
  const server = await withDeployment(await createTestServer({ aclEnabled: false }), 'failed')
  assert.deepEqual(await server.refusal('pauseDeployment', call(ID, { Pause: false })), [
    400,
    "can't resume terminal deployment",
  ])
})

// Pause

test('pause deployment: holds the roll-out up, and resuming lets it go on', async () => {
  const world = await aRolloutServer()
  await world.succeed()
  await world.run(aRollout(TWO))
  const { ID: id } = world.latest()
  const paused = await world.server.ok('pauseDeployment', call(id, { Pause: true }))
  assert.deepEqual(
    [
      paused.EvalID,
      paused.EvalCreateIndex,
      paused.DeploymentModifyIndex,
      paused.RevertedJobVersion,
    ],
    ['', 0, paused.Index, null],
  )
  assert.deepEqual(
    [world.latest().Status, world.latest().StatusDescription, world.latest().ModifyIndex],
    ['paused', 'Deployment is paused', paused.Index],
  )
  await world.health(world.live(1), true)
  assert.equal(world.live(1).length, 1, 'the next one waits')

  const resumed = await world.server.ok('pauseDeployment', call(id, { Pause: false }))
  assert.equal(resumed.EvalCreateIndex, resumed.Index)
  const evaluation = await world.server.ok('readEvaluation', {
    params: { eval_id: resumed.EvalID },
  })
  assert.deepEqual(
    [evaluation.TriggeredBy, evaluation.DeploymentID, evaluation.Type],
    ['deployment-watcher', id, 'service'],
  )
  await world.settle()
  assert.equal(world.live(1).length, 2)
})

test('pause deployment: what is so already is not written again', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout())
  const { ID: id, ModifyIndex } = world.latest()
  const { index } = world.server.context.store
  const again = await world.server.ok('pauseDeployment', call(id, { Pause: false }))
  assert.deepEqual([again.EvalID, again.DeploymentModifyIndex], ['', ModifyIndex])
  assert.equal(world.server.context.store.index, index)
})

// Fail

test('fail deployment: is told as what it is', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout())
  const { ID: id } = world.latest()
  const failed = await world.server.ok('failDeployment', { params: { deployment_id: id } })
  assert.notEqual(failed.EvalID, '')
  assert.equal(failed.RevertedJobVersion, null)
  assert.deepEqual(
    [world.latest().Status, world.latest().StatusDescription],
    ['failed', 'Deployment marked as failed'],
  )
})

test('fail deployment: a group that asks for it takes the job back to its stable version', async () => {
  const world = await aRolloutServer()
  await world.succeed({ update: { AutoRevert: true } })
  await world.run(aRollout({ ...TWO, update: { AutoRevert: true } }))
  const { ID: id } = world.latest()
  const failed = await world.server.ok('failDeployment', { params: { deployment_id: id } })
  assert.equal(failed.RevertedJobVersion, 0)
  const read = await world.server.ok('readDeployment', { params: { deployment_id: id } })
  assert.equal(
    read.StatusDescription,
    'Deployment marked as failed - rolling back to job version 0',
  )
  const job = await world.server.ok('readJob', { params: { job_id: 'web' } })
  assert.deepEqual(
    [job.Version, job.JobModifyIndex, job.TaskGroups[0]?.Tasks[0]?.Config],
    [2, failed.Index, { command: '/bin/one' }],
  )
})

test('fail deployment: a job that has moved on is left where it is', async () => {
  const server = await withDeployment(await createTestServer({ aclEnabled: false }))
  const { deployments, jobs } = server.context.store.tables
  const [job] = jobs.rows()
  const stable = { ...(job ?? aJob()), Stable: true, Priority: 1 }
  const deployment = deployments.get(ID)
  const state = groupStateOf(deployment, 'app') ?? assert.fail()
  const reverting = new Map([['app', { ...state, AutoRevert: true }]])
  await server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      // No evaluation has looked at the newer version yet.
      put('jobs', { ...stable, Stable: false, Version: 1 }),
      put('job_versions', stable),
      put('deployments', withGroupStates(deployment, reverting)),
    ],
  }).durable
  const failed = await server.ok('failDeployment', call(ID))
  assert.equal(failed.RevertedJobVersion, null)
  const after = await server.ok('readDeployment', call(ID))
  assert.equal(after.StatusDescription, 'Deployment marked as failed')
  assert.equal((await server.ok('readJob', { params: { job_id: 'web' } })).Version, 1)
})

// Promote

async function aTrial(canaries = 1): Promise<RolloutServer> {
  const world = await aRolloutServer()
  await world.succeed({ count: 2 })
  await world.run(aRollout({ ...TWO, count: 2, update: { Canary: canaries, MaxParallel: 2 } }))
  assert.equal(world.live(1).length, canaries)
  return world
}

test('promote deployment: too few healthy canaries are a reason against it', async () => {
  const world = await aTrial(2)
  const { ID: id } = world.latest()
  const refused = () => world.server.refusal('promoteDeployment', call(id, { All: true }))
  const text = (have: number) =>
    `1 error occurred:\n\t* Task group "app" has ${have}/2 healthy allocations\n\n`
  assert.deepEqual(await refused(), [400, text(0)])
  await world.health(world.live(1).slice(0, 1), true)
  assert.deepEqual(await refused(), [400, text(1)])
  assert.equal(world.latest().TaskGroups['app']?.Promoted, false)
})

for (const [name, wish] of [
  ['all groups', { All: true }],
  ['a group by its name', { Groups: ['app'] }],
] as const)
  test(`promote deployment: ${name}`, async () => {
    const world = await aTrial()
    const { ID: id } = world.latest()
    await world.health(world.live(1), true)
    const [canary] = world.live(1)
    const promoted = await world.server.ok('promoteDeployment', call(id, wish))
    assert.deepEqual(
      [promoted.EvalCreateIndex, promoted.DeploymentModifyIndex, promoted.RevertedJobVersion],
      [promoted.Index, promoted.Index, null],
    )
    const { TaskGroups, StatusDescription } = world.latest()
    assert.deepEqual(
      [TaskGroups['app']?.Promoted, StatusDescription],
      [true, 'Deployment is running'],
    )
    assert.equal(canary?.DeploymentStatus?.Canary, true)
    const after = world.live(1).find((row) => row.ID === canary.ID)
    assert.equal(after?.DeploymentStatus?.Canary, false)
    await world.settle()
    assert.deepEqual([world.live(0).length, world.live(1).length], [0, 2])
  })

test('promote deployment: must say which groups, and only those that there are', async () => {
  const world = await aTrial()
  const { ID: id } = world.latest()
  assert.deepEqual(await world.server.refusal('promoteDeployment', call(id)), [
    400,
    'must specify at least one task group, or all of them',
  ])
  const wish = { Groups: ['app', 'toString'] }
  assert.deepEqual(await world.server.refusal('promoteDeployment', call(id, wish)), [
    400,
    `task group "toString" is not part of deployment "${id}"`,
  ])
})

// Health

test('allocation health: a person says that allocations are well, and the roll-out goes on', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ update: { HealthCheck: 'manual' } }))
  const { ID: id } = world.latest()
  const HealthyAllocationIDs = world.live().map((row) => row.ID)
  const set = await world.server.ok('setDeploymentHealth', call(id, { HealthyAllocationIDs }))
  assert.equal(set.EvalCreateIndex, set.Index)
  assert.equal(world.latest().TaskGroups['app']?.HealthyAllocs, 2)
  const [row] = world.live()
  assert.deepEqual(
    [row?.DeploymentStatus?.Healthy, row?.DeploymentStatus?.ModifyIndex],
    [true, set.Index],
  )
  await world.settle()
  assert.equal(world.latest().Status, 'successful')
})

test('allocation health: an unhealthy one fails the deployment, and is counted', async () => {
  const world = await aRolloutServer()
  await world.succeed({ update: { AutoRevert: true } })
  await world.run(aRollout({ ...TWO, update: { AutoRevert: true, HealthCheck: 'manual' } }))
  const { ID: id } = world.latest()
  const [row] = world.live(1)
  // In both lists: the worse word is true.
  const ids = [row?.ID]
  const set = await world.server.ok(
    'setDeploymentHealth',
    call(id, { HealthyAllocationIDs: ids, UnhealthyAllocationIDs: ids }),
  )
  assert.equal(set.RevertedJobVersion, 0)
  const failed = await world.server.ok('readDeployment', { params: { deployment_id: id } })
  assert.deepEqual(
    [failed.Status, failed.StatusDescription],
    ['failed', 'Failed due to unhealthy allocations - rolling back to job version 0'],
  )
  const { app } = failed.TaskGroups
  assert.deepEqual([app?.HealthyAllocs, app?.UnhealthyAllocs], [0, 1])
})

test('allocation health: refuses what it cannot find', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout({ group: FINAL }))
  await world.run(aRollout({ id: 'other' }))
  const { ID: id } = world.latest()
  const [foreign] = world.allocationsOf('other')
  const refused = (body: object) => world.server.refusal('setDeploymentHealth', call(id, body))
  assert.deepEqual(await refused({ HealthyAllocationIDs: [] }), [
    400,
    'must specify at least one healthy/unhealthy allocation ID',
  ])
  assert.deepEqual(await refused({ UnhealthyAllocationIDs: ['x'] }), [400, 'unknown alloc "x"'])
  assert.deepEqual(await refused({ HealthyAllocationIDs: [foreign?.ID] }), [
    400,
    `alloc "${foreign?.ID}" is not part of deployment "${id}"`,
  ])
  assert.equal(world.latest().Status, 'running')
})

// Unblock

for (const status of DEPLOYMENT_STATUSES.filter(
  (one) => !['failed', 'successful', 'cancelled'].includes(one),
))
  test(`unblock deployment: one that is ${status} ${status === 'blocked' ? 'goes on' : 'is left as it is'}`, async () => {
    const server = await withDeployment(await createTestServer({ aclEnabled: false }), status)
    const { EvalID } = await server.ok('unblockDeployment', call(ID))
    const after = await server.ok('readDeployment', { params: { deployment_id: ID } })
    const isFreed = status === 'blocked'
    assert.deepEqual([after.Status, EvalID !== ''], [isFreed ? 'unblocking' : status, isFreed])
  })

// A report for another deployment

test('health from a node: what was judged for another deployment counts for nothing', async () => {
  const world = await aRolloutServer()
  await world.run(aRollout())
  const [row] = world.live()
  const DeploymentStatus = { Healthy: true, Timestamp: '', Canary: false, ModifyIndex: 0 }
  const report = (DeploymentID: string) =>
    world.report(row ?? anAllocation(), 'running', { DeploymentStatus, DeploymentID })
  await report(NOBODY)
  assert.equal(world.latest().TaskGroups['app']?.HealthyAllocs, 0)
  await report(world.latest().ID)
  assert.equal(world.latest().TaskGroups['app']?.HealthyAllocs, 1)
})

// Events

test('events: each operation on a deployment is told by its own type', async () => {
  const world = await aTrial()
  const { ID: id } = world.latest()
  const types = async (act: () => Promise<unknown>) => {
    const before = world.server.context.store.index
    await act()
    return await eventsAfter(world.server, before)
  }
  assert.deepEqual(
    await types(() => world.server.ok('pauseDeployment', call(id, { Pause: true }))),
    ['Deployment DeploymentStatusUpdate'],
  )
  assert.deepEqual(
    await types(() => world.server.ok('pauseDeployment', call(id, { Pause: false }))),
    ['Deployment DeploymentStatusUpdate', 'Evaluation EvaluationUpdated'],
  )
  const HealthyAllocationIDs = world.live(1).map((row) => row.ID)
  assert.deepEqual(
    await types(() => world.server.ok('setDeploymentHealth', call(id, { HealthyAllocationIDs }))),
    [
      'Allocation AllocationUpdateDesiredStatus',
      'Deployment DeploymentAllocHealth',
      'Evaluation EvaluationUpdated',
    ],
  )
  assert.deepEqual(
    await types(() => world.server.ok('promoteDeployment', call(id, { All: true }))),
    [
      'Allocation AllocationUpdateDesiredStatus',
      'Deployment DeploymentPromotion',
      'Evaluation EvaluationUpdated',
    ],
  )
})

test('events: a job that is taken back is registered', async () => {
  const world = await aRolloutServer()
  await world.succeed({ update: { AutoRevert: true } })
  await world.run(aRollout({ ...TWO, update: { AutoRevert: true } }))
  const before = world.server.context.store.index
  await world.server.ok('failDeployment', { params: { deployment_id: world.latest().ID } })
  assert.deepEqual(await eventsAfter(world.server, before), [
    'Deployment DeploymentStatusUpdate',
    'Evaluation EvaluationUpdated',
    'Job JobRegistered',
  ])
})
