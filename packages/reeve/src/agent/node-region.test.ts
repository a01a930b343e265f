import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anAssignment,
  aSimulation,
  aTask,
  FakeServer,
  pass,
  restartPolicy,
  someMemoryStorage,
  type Simulation,
} from '../../test/build/agent.ts'

const task = aTask({
  Env: { NODE: '${node.region}' },
  Config: { run_for: '10s' },
  RestartPolicy: restartPolicy({ Attempts: 5 }),
})
const assignments = [anAssignment({ job: { Region: 'global' }, tasks: [task] })]

/** What the task that runs was told: of its job, and of its node. */
function toldRegions(driver: Simulation['driver']): readonly (string | undefined)[] {
  const { REEVE_REGION, NODE } = driver.running[0]?.launch.env ?? {}
  return [REEVE_REGION, NODE]
}

function serverOf(region: string | undefined): FakeServer {
  const server = new FakeServer()
  server.region = region
  return server
}

test('tasks of a node without a configured region are in the region of its servers', async () => {
  const sim = await aSimulation({ server: serverOf('eu'), assignments })
  assert.deepEqual(toldRegions(sim.driver), ['eu', 'eu'])
  await sim.agent.stop()
})

test('servers that do not say their region leave a node in the default one', async () => {
  const sim = await aSimulation({ server: serverOf(undefined), assignments })
  assert.deepEqual(toldRegions(sim.driver), ['global', 'global'])
  await sim.agent.stop()
})

test('an agent knows the region of its servers again before it reaches one', async () => {
  const storage = someMemoryStorage()
  const first = await aSimulation({ server: serverOf('eu'), storage, assignments })
  await first.agent.stop()
  const server = serverOf('eu')
  server.isReachable = false
  const { clock, driver } = first
  const second = await aSimulation({ server, storage, clock, driver })
  const before = driver.running[0]?.launch.handle.id
  await pass(clock, 30_000)
  assert.notEqual(driver.running[0]?.launch.handle.id, before, 'it was started again')
  assert.deepEqual(toldRegions(driver), ['eu', 'eu'])
  await second.agent.stop()
})
