import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  allocationId,
  anAssignment,
  aSimulation,
  pass,
  someMemoryStorage,
  type Simulation,
} from '../../../test/build/agent.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'

const [ID, OTHER] = [allocationId(1), allocationId(2)]

function stopsAfter(id: string, afterMs: number | null) {
  return anAssignment({
    group: { Disconnect: { StopOnClientAfter: afterMs === null ? null : nsFromMs(afterMs) } },
    allocation: { ID: id },
  })
}

/** The network between the node and every server is gone. */
function isolate({ server }: Simulation): void {
  server.isReachable = false
  server.answersHeartbeats = false
  server.channel?.close()
}

async function comeBack(sim: Simulation): Promise<void> {
  sim.server.isReachable = true
  sim.server.answersHeartbeats = true
  await pass(sim.clock, 60_000)
}

test('heartbeat stop: stops configured allocations after the last contact, no others', async () => {
  const sim = await aSimulation({ assignments: [stopsAfter(ID, 60_000), stopsAfter(OTHER, null)] })
  await pass(sim.clock, 5_000)
  isolate(sim)
  await pass(sim.clock, 50_000)
  assert.deepEqual([sim.server.statusOf(ID), sim.driver.running.length], ['running', 2])
  await pass(sim.clock, 20_000)
  assert.equal(sim.driver.running.length, 1)
  await comeBack(sim)
  assert.deepEqual([sim.server.statusOf(ID), sim.server.statusOf(OTHER)], ['complete', 'running'])
  const killing = sim.server.updates
    .get(ID)
    ?.TaskStates?.['web']?.Events?.find((event) => event.Type === 'Killing')
  assert.equal(killing?.KillReason, 'no server was heard for 1m0s')
  await sim.agent.stop()
})

test('heartbeat stop: nothing is stopped while a server is in contact', async () => {
  const sim = await aSimulation({ assignments: [stopsAfter(ID, 15_000)] })
  await pass(sim.clock, 600_000)
  assert.equal(sim.server.statusOf(ID), 'running')
  await sim.agent.stop()
})

test('heartbeat stop: contact in time restarts the period', async () => {
  const sim = await aSimulation({ assignments: [stopsAfter(ID, 120_000)] })
  for (let round = 0; round < 3; round++) {
    isolate(sim)
    await pass(sim.clock, 80_000)
    await comeBack(sim)
  }
  assert.equal(sim.server.statusOf(ID), 'running')
  await sim.agent.stop()
})

test('alone: a version that asks for it counts from when it came', async () => {
  const sim = await aSimulation({ assignments: [stopsAfter(ID, null)] })
  sim.server.assign({
    ...stopsAfter(ID, 30_000),
    allocation: { ...stopsAfter(ID, 30_000).allocation, AllocModifyIndex: 11 },
  })
  await pass(sim.clock, 5_000)
  isolate(sim)
  await pass(sim.clock, 60_000)
  assert.equal(sim.driver.running.length, 0)
  await sim.agent.stop()
})

test('alone: an agent that starts without a server counts from its start', async () => {
  const storage = someMemoryStorage()
  const first = await aSimulation({ assignments: [stopsAfter(ID, 60_000)], storage })
  await pass(first.clock, 5_000)
  isolate(first)
  await first.agent.stop()
  const second = await aSimulation({ ...first, storage })
  await pass(second.clock, 50_000)
  assert.equal(second.driver.running.length, 1)
  await pass(second.clock, 20_000)
  assert.equal(second.driver.running.length, 0)
  await second.agent.stop()
})
