import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  allocationId,
  anAssignment,
  aSimulation,
  aTask,
  mockDriver,
  pass,
  stopped,
} from '../../test/build/agent.ts'
import { isReconcilingDriver, type LiveTasks, type ReconcilingDriver } from './driver.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

/** A mock driver that notes what it is told to keep. */
function reconcilingDriver(clock: SimulatedClock) {
  const told: LiveTasks[] = []
  const driver = Object.assign(mockDriver(clock), {
    told,
    isAway: false,
    reconcileIntervalMs: 1_000,
    reconcile: (tasks: LiveTasks) => {
      told.push(tasks)
      if (driver.isAway) return Promise.reject(new Error('the engine does not answer'))
      return Promise.resolve({ removedContainers: [], removedImages: [], isDryRun: false })
    },
  }) satisfies ReconcilingDriver
  return driver
}

test('reconcile: a driver learns the starts and configurations of tasks that live', async () => {
  const clock = new SimulatedClock()
  const driver = reconcilingDriver(clock)
  assert.equal(isReconcilingDriver(driver), true)
  const assignment = anAssignment({ tasks: [aTask({ Config: {} })] })
  const { agent, server } = await aSimulation({ clock, driver, assignments: [assignment] })
  await pass(clock, 3_000, 100)
  const living = driver.told.at(-1)
  assert.equal(living?.handleIds.size, 1)
  assert.deepEqual(living?.configs, [{}])
  assert.deepEqual([...(living?.allocationIds ?? [])], [allocationId(1)])
  server.assign(stopped(assignment))
  await pass(clock, 20_000, 100)
  const after = driver.told.at(-1)
  assert.deepEqual(
    [after?.handleIds.size, after?.allocationIds.size, after?.configs.length],
    [0, 0, 0],
  )
  await agent.stop()
})

test('reconcile: a failing driver is retried, but not after the agent stopped', async () => {
  const clock = new SimulatedClock()
  const driver = reconcilingDriver(clock)
  driver.isAway = true
  const { agent } = await aSimulation({ clock, driver })
  await pass(clock, 5_000, 100)
  const { length } = driver.told
  assert.ok(length >= 4, String(length))
  await agent.stop()
  await pass(clock, 5_000, 100)
  assert.equal(driver.told.length, length)
})
