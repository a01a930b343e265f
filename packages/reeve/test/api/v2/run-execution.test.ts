import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v2 } from '@reeve/contract'
import { aPhaseWorld, finishPlan, type PhaseWorld } from './phase-world.ts'

async function aWorld(): Promise<PhaseWorld> {
  const world = await aPhaseWorld()
  await world.node(1)
  return world
}

async function statusOf(world: PhaseWorld, runId: string) {
  return (await world.run(runId)).attributes.status
}

async function decide(world: PhaseWorld, runId: string, id: v2.V2RouteId): Promise<number> {
  const { status } = await world.it.call(id, { params: { run_id: runId } })
  await world.settle()
  return status
}

async function isLocked(world: PhaseWorld): Promise<boolean> {
  return (await world.workspace()).attributes.locked
}

test('C36 logs: ranges count bytes with both marks, also inside of a character', async () => {
  const world = await aWorld()
  const runId = await world.queue()
  const runner = await world.runner(runId, 'plan')
  await runner.start()
  await runner.log('grün\n')
  await finishPlan(runner)
  const path = await world.logPath(runId, 'plan')
  const read = async (offset: number, limit: number): Promise<Buffer> =>
    (await world.it.server.send('GET', `${path}?limit=${limit}&offset=${offset}`)).bytes
  const whole = Buffer.from('\u0002grün\nplanned\n\u0003')
  for (let offset = 0; offset <= whole.length; offset++)
    assert.deepEqual(await read(offset, 3), whole.subarray(offset, offset + 3))
  assert.deepEqual(await read(0, 1_000), whole)
  await world.close()
})

test('C38 logs: a URL needs no token, and another key finds nothing', async () => {
  const world = await aWorld()
  const runId = await world.queue()
  const path = await world.logPath(runId, 'plan')
  const changed = `${path.slice(0, -2)}${path.endsWith('AA') ? 'BB' : 'AA'}`
  assert.equal((await world.it.server.send('GET', changed)).status, 404)
  await world.close()
})

test('C46 logs: where one ends, the run can be confirmed, each of 200 times', async () => {
  const world = await aWorld()
  for (let turn = 0; turn < 200; turn++) {
    const runId = await world.queue()
    const runner = await world.runner(runId, 'plan')
    await runner.start()
    const end = finishPlan(runner)
    // Clients read the run once when the log has ended.
    while (!(await world.log(runId, 'plan')).endsWith('\u0003')) assert.ok(turn < 200)
    const { attributes } = await world.run(runId)
    assert.deepEqual(
      [attributes.actions['is-confirmable'], attributes['has-changes']],
      [true, true],
    )
    await end
    assert.equal(await decide(world, runId, 'discardRun'), 202)
  }
  await world.close()
})

test('cancel: a run that is pending or queued ends at once', async () => {
  const world = await aWorld()
  const first = await world.queue()
  const second = await world.queue()
  assert.deepEqual(
    [await statusOf(world, first), await statusOf(world, second)],
    ['plan_queued', 'pending'],
  )
  assert.equal(await decide(world, second, 'cancelRun'), 202)
  assert.equal(await decide(world, first, 'cancelRun'), 202)
  assert.deepEqual(
    [await statusOf(world, first), await statusOf(world, second)],
    ['canceled', 'canceled'],
  )
  assert.equal(await isLocked(world), false)
  await world.close()
})

test('C60 cancel: a run that executes is interrupted once, and ends with its runner', async () => {
  const world = await aWorld()
  const { runId, runner } = await world.applying()
  assert.equal(await decide(world, runId, 'cancelRun'), 202)
  assert.equal(await decide(world, runId, 'cancelRun'), 409)
  assert.equal(await statusOf(world, runId), 'applying')
  const control = await runner.send('GET', '/control?known=none')
  assert.deepEqual(JSON.parse(control.text), { cancellation: 'interrupt' })
  await runner.state(1, ['a'])
  await runner.finish({ outcome: 'errored', message: 'interrupted' })
  assert.equal(await statusOf(world, runId), 'canceled')
  assert.equal(await isLocked(world), false)
  await world.close()
})

test('C58 force-cancel: not before the cool-off; then the job is stopped, and the lock stays', async () => {
  const world = await aWorld()
  const { runId, runner } = await world.applying()
  assert.equal(await decide(world, runId, 'forceCancelRun'), 409)
  await decide(world, runId, 'cancelRun')
  assert.equal(await decide(world, runId, 'forceCancelRun'), 409)
  await world.pass(v2.FORCE_CANCEL_WAIT_MS / 1_000)
  assert.equal((await world.run(runId)).attributes.actions['is-force-cancelable'], true)
  assert.equal(await decide(world, runId, 'forceCancelRun'), 202)
  assert.equal(await statusOf(world, runId), 'canceled')
  assert.deepEqual(
    world.allocations(runId, 'apply').map(({ DesiredStatus }) => DesiredStatus),
    ['stop'],
  )
  const { cancellation, isJobStopped } = world.phase(runId, 'apply')
  assert.deepEqual([cancellation, isJobStopped], ['kill', true])
  assert.equal((await runner.send('GET', '/control?known=interrupt')).status, 404)
  const { attributes } = await world.workspace()
  assert.deepEqual(
    [attributes.locked, attributes['locked-reason']],
    [true, 'The apply was killed; resources may exist that the state lacks'],
  )
  await world.close()
})

test('C59 queue: an organization executes ten phases, older runs first, and no run is lost', async () => {
  const world = await aWorld()
  const runs: string[] = []
  for (let number = 0; number < 12; number++)
    runs.push(await world.queue({}, await world.newWorkspace(`w${number}`)))
  const statuses = () => Promise.all(runs.map((runId) => statusOf(world, runId)))
  const queued = Array.from({ length: 10 }, () => 'plan_queued')
  assert.deepEqual(await statuses(), [...queued, 'pending', 'pending'])
  assert.equal((await world.run(runs[11] ?? '')).attributes['position-in-queue'], 2)
  for (const runId of runs) {
    const runner = await world.runner(runId, 'plan')
    await runner.start()
    await finishPlan(runner)
    await world.settle()
  }
  assert.deepEqual(new Set(await statuses()), new Set(['planned']))
  await world.close()
})

test('saved plans: one that another run has overtaken is discarded', async () => {
  const world = await aWorld()
  const saved = await world.queue({ 'save-plan': true })
  const planner = await world.runner(saved, 'plan')
  await planner.start()
  await finishPlan(planner)
  assert.equal(await statusOf(world, saved), 'planned_and_saved')
  const { runId, runner } = await world.applying()
  await runner.state(1, ['a'])
  await runner.finish({ outcome: 'finished' })
  assert.deepEqual(
    [await statusOf(world, runId), await statusOf(world, saved)],
    ['applied', 'discarded'],
  )
  assert.equal(await decide(world, saved, 'applyRun'), 409)
  await world.close()
})

test('phase tokens: they open no other route, and a plan writes no state', async () => {
  const world = await aWorld()
  const runId = await world.queue()
  const token = 'the-token-of-a-plan-that-is-curious'
  const runner = await world.runner(runId, 'plan', token)
  await runner.start()
  assert.equal((await runner.state(1, ['a'])).status, 409)
  const own = world.workspaceId
  for (const path of [
    '/account/details',
    '/organizations',
    '/organizations/acme/workspaces',
    `/workspaces/${own}`,
    `/workspaces/${own}/vars`,
    `/workspaces/${own}/current-state-version`,
    `/runs/${runId}`,
    `/runs/${runId}/run-events`,
  ]) {
    const headers = { authorization: `Bearer ${token}` }
    const { status } = await world.it.server.send('GET', `/api/v2${path}`, { headers })
    assert.equal(status, 401, path)
  }
  const other = await world.queue({}, await world.newWorkspace('other'))
  const foreign = `/api/v2/run-phases/${other}-plan/state`
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await world.it.server.send('GET', foreign, { headers })).status, 404)
  await world.close()
})
