import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  allocationId,
  anAssignment,
  aSimulation,
  aTask,
  pass,
  restartPolicy,
  someMemoryStorage,
  stopped,
  type AssignmentFields,
  type Simulation,
} from '../../../test/build/agent.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'

const ID = allocationId(1)
const Update = {
  HealthCheck: 'task_states',
  MinHealthyTime: nsFromMs(10_000),
  HealthyDeadline: nsFromMs(60_000),
}

function deployed(DeploymentID = 'd1', fields: AssignmentFields = {}) {
  return anAssignment({ ...fields, group: { Update }, allocation: { DeploymentID } })
}

/** What the server was last told of the health, and for which deployment. */
function wordOf({ server }: Simulation) {
  const update = server.updates.get(ID)
  const status = update?.DeploymentStatus
  return [update?.DeploymentID, status?.Healthy, status?.Timestamp]
}

const NOTHING = [undefined, undefined, undefined]
const at = (seconds: number): string =>
  new Date(Date.parse('2026-01-01T00:00:00Z') + seconds * 1_000).toISOString()

test('health watch: an allocation whose tasks run long enough is healthy', async () => {
  const sim = await aSimulation({ assignments: [deployed()] })
  await pass(sim.clock, 9_000, 1_000)
  assert.deepEqual(wordOf(sim), NOTHING)
  await pass(sim.clock, 1_000, 1_000)
  assert.deepEqual(wordOf(sim), ['d1', true, at(10)])
  await sim.agent.stop()
})

test('health: a failed task makes the allocation unhealthy immediately', async () => {
  const task = aTask({ Config: { run_for: '2s', exit_code: 1 } })
  const sim = await aSimulation({ assignments: [deployed('d1', { tasks: [task] })] })
  await pass(sim.clock, 2_000, 1_000)
  assert.equal(sim.server.statusOf(ID), 'failed')
  assert.deepEqual(wordOf(sim), ['d1', false, at(2)])
  await sim.agent.stop()
})

test('health: repeated restarts are unhealthy at the deadline, with the reason', async () => {
  const task = aTask({
    Config: { run_for: '5s', exit_code: 1 },
    RestartPolicy: restartPolicy({ Attempts: 100, Delay: nsFromMs(1_000) }),
  })
  const sim = await aSimulation({ assignments: [deployed('d1', { tasks: [task] })] })
  await pass(sim.clock, 59_000, 500)
  assert.deepEqual(wordOf(sim), NOTHING)
  await pass(sim.clock, 1_000, 500)
  assert.deepEqual(wordOf(sim), ['d1', false, at(60)])
  const events = sim.server.updates.get(ID)?.TaskStates?.['web']?.Events ?? []
  const told = events.find((event) => event.Type === 'Alloc Unhealthy')
  assert.match(told?.DisplayMessage ?? '', /^Task not running .*healthy_deadline of 1m0s$/)
  await sim.agent.stop()
})

test('health: stopping an allocation does not make it unhealthy', async () => {
  const assignment = deployed()
  const sim = await aSimulation({ assignments: [assignment] })
  await pass(sim.clock, 1_000, 500)
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, 120_000, 10_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.deepEqual(wordOf(sim), NOTHING)
  await sim.agent.stop()
})

test('health: joining another deployment restarts the evaluation', async () => {
  const sim = await aSimulation({ assignments: [deployed()] })
  await pass(sim.clock, 10_000, 1_000)
  assert.deepEqual(wordOf(sim), ['d1', true, at(10)])
  sim.server.assign(deployed('d2'))
  await pass(sim.clock, 1_000, 500)
  assert.deepEqual(wordOf(sim), ['d2', true, at(10)])
  await sim.agent.stop()
})

test('health: the next agent evaluates recovered allocations again', async () => {
  const storage = someMemoryStorage()
  const first = await aSimulation({ assignments: [deployed()], storage })
  await pass(first.clock, 5_000, 1_000)
  await first.agent.stop()
  const { clock, driver, server } = first
  server.updates.clear()
  const second = await aSimulation({ clock, driver, server, storage })
  await pass(clock, 4_000, 1_000)
  assert.deepEqual(wordOf(second), NOTHING)
  await pass(clock, 1_000, 1_000)
  assert.deepEqual(wordOf(second), ['d1', true, at(10)])
  await second.agent.stop()
})

test('health watch: the time in which it waits for the one it replaces does not count', async () => {
  const old = anAssignment({
    allocation: { ID: allocationId(2) },
    tasks: [aTask({ Name: 'old', KillTimeout: nsFromMs(30_000), Config: { kill_after: '20s' } })],
  })
  const sim = await aSimulation({ assignments: [old] })
  const next = anAssignment({
    group: { Update: { ...Update, HealthyDeadline: nsFromMs(15_000) } },
    allocation: { DeploymentID: 'd1', PreviousAllocation: allocationId(2) },
  })
  sim.server.assign(stopped(old), next)
  await pass(sim.clock, 29_000, 1_000)
  assert.deepEqual(wordOf(sim), NOTHING)
  await pass(sim.clock, 1_000, 1_000)
  assert.deepEqual(wordOf(sim), ['d1', true, at(30)])
  await sim.agent.stop()
})

for (const jumpMs of [3_600_000, -3_600_000])
  test(`health watch: a jump of the clock by ${jumpMs} ms makes nothing unhealthy`, async () => {
    const sim = await aSimulation({ assignments: [deployed()] })
    await pass(sim.clock, 5_000, 1_000)
    sim.clock.jump(jumpMs)
    await pass(sim.clock, 20_000, 1_000)
    assert.deepEqual(wordOf(sim).slice(0, 2), ['d1', true])
    await sim.agent.stop()
  })
