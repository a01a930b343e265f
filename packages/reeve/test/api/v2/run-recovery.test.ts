// tidy-allow vendor: messages and node attributes name the tool that executes runs
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toolPathAttribute } from '../../../src/infrastructure/index.ts'
import { aPhaseWorld, finishPlan, stateFile, type PhaseWorld } from './phase-world.ts'
import { patchWorkspace } from './workspace-calls.ts'

async function statusOf(world: PhaseWorld, runId: string) {
  const { attributes } = await world.run(runId)
  return [attributes.status, attributes['status-reason']]
}

test('tool versions: a run without a node for its version errors, and its log says why', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  await patchWorkspace(world.it, world.workspaceId, { attributes: { 'tool-version': '1.9.8' } })
  const runId = await world.queue()
  const why =
    'The plan could not be started: No node has terraform 1.9.8; nodes have 1.11.4. ' +
    'Install it on a node, or change the version of the workspace.'
  assert.deepEqual(await statusOf(world, runId), ['errored', why])
  assert.equal(await world.log(runId, 'plan'), `\u0002Error: ${why}\n\u0003`)
  assert.equal((await world.workspace()).attributes.locked, false)
  await world.close()
})

test('tool versions: before the first node a run waits', async () => {
  const world = await aPhaseWorld()
  const runId = await world.queue()
  assert.deepEqual(await statusOf(world, runId), ['plan_queued', null])
  await world.node(1)
  assert.equal(world.allocations(runId, 'plan').length, 1)
  await world.close()
})

test('tool versions: the apply uses the version of the plan, whatever is newer by then', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const runId = await world.queue()
  const planner = await world.runner(runId, 'plan')
  await planner.start()
  await finishPlan(planner)
  const newer = {
    'os.signals': 'SIGINT',
    [toolPathAttribute('terraform', '1.12.0')]: '/usr/bin/terraform',
  }
  await world.node(2, { Attributes: newer })
  await world.it.call('applyRun', { params: { run_id: runId } })
  await world.settle()
  const [allocation] = world.allocations(runId, 'apply')
  assert.equal(allocation?.NodeName, 'node-1')
  await world.close()
})

test('recovery: a server that restarts during a plan loses nothing of it', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const runId = await world.queue()
  const planner = await world.runner(runId, 'plan')
  await planner.start()
  await planner.log('first\n')
  await world.restart()
  await finishPlan(planner)
  assert.deepEqual(await statusOf(world, runId), ['planned', null])
  assert.equal(await world.log(runId, 'plan'), '\u0002first\nplanned\n\u0003')
  assert.equal(world.allocations(runId, 'plan').length, 1)
  await world.close()
})

test('recovery: a server that restarts during an apply gets its states once', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const { runId, runner } = await world.applying()
  assert.equal((await runner.state(1, ['a'])).status, 204)
  await world.restart()
  // The answer was lost with the server, so the runner sends the state again.
  assert.equal((await runner.state(1, ['a'])).status, 204)
  assert.equal((await runner.state(2, ['a', 'b'])).status, 204)
  await runner.finish({ outcome: 'finished' })
  assert.deepEqual(await statusOf(world, runId), ['applied', null])
  assert.deepEqual(await serials(world), [2])
  assert.equal(world.allocations(runId, 'apply').length, 1)
  assert.equal((await world.workspace()).attributes.locked, false)
  await world.close()
})

test('recovery: a server that ends between the confirmation and the job submits it once', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const runId = await world.queue()
  const planner = await world.runner(runId, 'plan')
  await planner.start()
  await finishPlan(planner)
  await world.it.call('applyRun', { params: { run_id: runId } })
  await world.restart()
  await world.restart()
  assert.equal(world.allocations(runId, 'apply').length, 1)
  const runner = await world.runner(runId, 'apply')
  assert.equal((await runner.start()).status, 200)
  const other = await world.runner(runId, 'apply', 'the-token-of-a-second-runner-that-is-late')
  assert.equal((await other.start()).status, 409)
  await world.close()
})

test('recovery: a runner that dies during a plan ends the run, and the workspace is free', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const runId = await world.queue()
  await (await world.runner(runId, 'plan')).start()
  await world.report(runId, 'plan', 'failed')
  const why = 'The plan is lost: its task ended (failed) without a report'
  assert.deepEqual(await statusOf(world, runId), ['errored', why])
  const next = await world.queue()
  assert.deepEqual(await statusOf(world, next), ['plan_queued', null])
  await world.close()
})

test('recovery: a runner that dies during an apply leaves its states, and a lock with the reason', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const { runId, runner } = await world.applying()
  await runner.state(1, ['a'])
  await world.report(runId, 'apply', 'failed')
  const why =
    'The apply is lost: its task ended (failed) without a report; ' +
    'resources may exist that the state lacks'
  assert.deepEqual(await statusOf(world, runId), ['errored', why])
  assert.match(await world.log(runId, 'apply'), /Error: The apply is lost/)
  await assertHeld(world, why)
  assert.deepEqual(await serials(world), [1])
  // Nothing starts until an admin has looked at it.
  const next = await world.queue()
  assert.deepEqual(await statusOf(world, next), ['pending', null])
  await forceUnlock(world)
  assert.deepEqual(await statusOf(world, next), ['plan_queued', null])
  await world.close()
})

test('recovery: a tool that is killed during an apply leaves a lock with the reason', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const { runId, runner } = await world.applying()
  await runner.state(1, ['a'])
  const message = 'The apply ended by SIGKILL; its log says why'
  await runner.finish({ outcome: 'errored', message, stateUncertain: true })
  assert.deepEqual(await statusOf(world, runId), ['errored', message])
  await assertHeld(world, message)
  await world.close()
})

test('recovery: a node that is lost during a plan ends the run', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  await world.node(2)
  const runId = await world.queue()
  const planner = await world.runner(runId, 'plan')
  await planner.start()
  await world.loseNode(numberOf(world, runId, 'plan'))
  assert.deepEqual(await statusOf(world, runId), ['errored', 'The plan is lost: its node was lost'])
  assert.equal((await planner.send('GET', '/state')).status, 404)
  assert.equal((await world.workspace()).attributes.locked, false)
  await world.close()
})

test('recovery: a node that is lost before its plan starts is replaced', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  await world.node(2)
  const runId = await world.queue()
  await world.loseNode(numberOf(world, runId, 'plan'))
  assert.deepEqual(await statusOf(world, runId), ['plan_queued', null])
  const planner = await world.runner(runId, 'plan')
  assert.equal((await planner.start()).status, 200)
  await world.close()
})

test('recovery: a node that is lost during an apply is not replaced, and the lock says why', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  await world.node(2)
  const { runId, runner } = await world.applying()
  await runner.state(1, ['a'])
  const before = await world.runner(runId, 'apply', 'the-token-of-a-second-runner-that-is-late')
  await world.loseNode(numberOf(world, runId, 'apply'))
  const why = 'The apply is lost: its node was lost; resources may exist that the state lacks'
  assert.deepEqual(await statusOf(world, runId), ['errored', why])
  await assertHeld(world, why)
  assert.equal((await before.start()).status, 404)
  assert.deepEqual(
    world.allocations(runId, 'apply').filter(({ DesiredStatus }) => DesiredStatus === 'run'),
    [],
  )
  await world.close()
})

test('recovery: a node that returns offers its state, and does not overwrite the current one', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const { runId, runner } = await world.applying()
  await runner.state(1, ['a'])
  await world.loseNode(1)
  const latest = stateFile(2, ['a', 'b'])
  assert.equal((await runner.send('PUT', '/state', latest)).status, 404)
  assert.equal((await runner.send('PUT', '/files/errored-state', latest)).status, 204)
  assert.deepEqual(await serials(world), [1])
  assert.equal(await erroredState(world, runId), latest.toString())
  // Nobody else may attach a file to the run, and the node attaches no other file.
  const stranger = await runner.send('PUT', '/files/plan', latest)
  assert.equal(stranger.status, 404)
  await world.close()
})

test('C85 recovery: a state that does not follow the current one is kept with the run', async () => {
  const world = await aPhaseWorld()
  await world.node(1)
  const { runId, runner } = await world.applying()
  await runner.state(5, ['a'])
  const stale = await runner.state(4, ['b'])
  assert.equal(stale.status, 409)
  const kept = stateFile(4, ['b'])
  assert.equal((await runner.send('PUT', '/files/errored-state', kept)).status, 204)
  const message = 'The state could not be stored: the serial is lower'
  await runner.finish({ outcome: 'errored', message, stateUncertain: true })
  assert.equal(await erroredState(world, runId), kept.toString())
  await assertHeld(world, message)
  await world.close()
})

async function assertHeld(world: PhaseWorld, reason: string): Promise<void> {
  const { attributes } = await world.workspace()
  assert.deepEqual([attributes.locked, attributes['locked-reason']], [true, reason])
}

async function forceUnlock(world: PhaseWorld): Promise<void> {
  await world.it.ok('forceUnlockWorkspace', { params: { workspace_id: world.workspaceId } })
  await world.settle()
}

/** Serials of the states of the workspace, the current one first. */
async function serials(world: PhaseWorld): Promise<readonly number[]> {
  const { data } = await world.it.ok('listStateVersions', {
    query: { 'filter[workspace][name]': 'app', 'filter[organization][name]': 'acme' },
  })
  return data.map(({ attributes }) => attributes.serial)
}

async function erroredState(world: PhaseWorld, runId: string): Promise<string> {
  const { relationships } = await world.run(runId)
  const { id = '' } = relationships.apply.data ?? {}
  const reply = await world.it.server.send('GET', `/api/v2/applies/${id}/errored-state`, {
    headers: { authorization: `Bearer ${world.it.root}` },
  })
  return reply.text
}

/** Number of the node on which a phase runs. */
function numberOf(world: PhaseWorld, runId: string, name: 'plan' | 'apply'): number {
  const [allocation] = world.allocations(runId, name)
  return Number(/\d+$/.exec(allocation?.NodeName ?? '')?.[0])
}
