import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DriftLoop } from '../../../src/governance/index.ts'
import { aPhaseWorld, finishPlan, type PhaseWorld } from './phase-world.ts'
import { patchWorkspace } from './workspace-calls.ts'

const HOURS_12 = 12 * 3_600_000

async function aDriftWorld() {
  const world = await aPhaseWorld()
  await world.node(1)
  const log = { warn: (fields: object) => assert.fail(JSON.stringify(fields)) }
  const loop = new DriftLoop({ context: world.it.server.context, log })
  const check = async (): Promise<number> => {
    loop.runOnce()
    await world.settle()
    return (await checksOf(world)).length
  }
  const every = (interval: string | null) =>
    patchWorkspace(world.it, world.workspaceId, {
      attributes: { 'drift-check-interval': interval },
    })
  return { world, check, every }
}

async function checksOf({ it, workspaceId }: PhaseWorld) {
  const { data } = await it.ok('listWorkspaceRuns', { params: { workspace_id: workspaceId } })
  return data.filter(({ attributes }) => attributes['trigger-reason'] === 'drift-check')
}

test('drift: a workspace with state is checked by plans that only refresh', async () => {
  const { world, check, every } = await aDriftWorld()
  await every('12h')
  assert.equal(await check(), 0, 'there is no state that could drift')
  const { runner } = await world.applying()
  await runner.state(1, ['a'])
  await runner.finish({ outcome: 'finished' })
  await world.settle()
  assert.equal(await check(), 1)
  const [run] = await checksOf(world)
  assert.ok(run !== undefined)
  assert.deepEqual(
    ['plan-only', 'refresh-only', 'auto-apply', 'is-destroy'].map(
      (name) => Object(run.attributes)[name],
    ),
    [true, true, false, false],
  )
  assert.equal((await world.workspace()).attributes['drift-status'], null)
  assert.equal(await check(), 1)
  const planner = await world.runner(run.id, 'plan')
  await planner.start()
  await finishPlan(planner)
  await world.settle()
  const { attributes } = await world.workspace()
  assert.deepEqual(
    [attributes['drift-status'], attributes['drift-check-interval'], attributes.locked],
    ['drifted', '12h', false],
  )
  // From here on the node is away, so that a check does not end.
  world.it.server.clock.advance(HOURS_12)
  assert.equal(await check(), 2)
  world.it.server.clock.advance(HOURS_12)
  assert.equal(await check(), 2, 'the second one has not ended')
  const [second] = await checksOf(world)
  await world.it.call('cancelRun', { params: { run_id: second?.id ?? '' } })
  await every(null)
  assert.equal(await check(), 2)
  await world.close()
})

test('drift: nothing is planned where runs execute elsewhere', async () => {
  const { world, check, every } = await aDriftWorld()
  const { runner } = await world.applying()
  await runner.state(1, ['a'])
  await runner.finish({ outcome: 'finished' })
  await every('1h')
  await patchWorkspace(world.it, world.workspaceId, { attributes: { 'execution-mode': 'local' } })
  assert.equal(await check(), 0)
  await world.close()
})
