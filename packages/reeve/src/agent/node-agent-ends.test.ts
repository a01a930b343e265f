import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SERVER_STOPS } from '@reeve/contract'
import {
  anAgent,
  anAssignment,
  aSimulation,
  aTask,
  FakeServer,
  mockDriver,
  pass,
  someMemoryStorage,
  turn,
} from '../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import type { Channel } from './link/channel.ts'
import type { AgentStorage } from './store/agent-storage.ts'
import { NoopWorkspace } from './store/workspace.ts'

/** Storage in memory that notes whose secrets are unmounted. */
function notedStorage(unmounted: string[]): AgentStorage {
  const workspace = Object.assign(new NoopWorkspace(), {
    unmountSecrets: async (id: string) => void unmounted.push(id),
  })
  return { ...someMemoryStorage(), workspace }
}

test('secrets of an allocation are unmounted when it has ended, not before', async () => {
  const unmounted: string[] = []
  const storage = notedStorage(unmounted)
  const batch = { job: { Type: 'batch' } }
  const short = anAssignment({ ...batch, tasks: [aTask({ Config: { run_for: '10s' } })] })
  const sim = await aSimulation({ assignments: [short], storage })
  await pass(sim.clock, 9_000)
  assert.deepEqual(unmounted, [])
  await pass(sim.clock, 2_000)
  assert.deepEqual(unmounted, [short.allocation.ID])
  await sim.agent.stop()
  assert.deepEqual(unmounted, [short.allocation.ID])
})

test('an agent that stops leaves the secrets of running tasks mounted', async () => {
  const unmounted: string[] = []
  const storage = notedStorage(unmounted)
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [aTask()] })], storage })
  await sim.agent.stop()
  assert.deepEqual(unmounted, [])
})

test('an agent that ends its tasks unmounts their secrets', async () => {
  const unmounted: string[] = []
  const storage = notedStorage(unmounted)
  const assignment = anAssignment({ tasks: [aTask()] })
  const sim = await aSimulation({ assignments: [assignment], storage })
  const stopped = sim.agent.stop({ killTasks: true })
  await pass(sim.clock, 60_000)
  await stopped
  assert.deepEqual(unmounted, [assignment.allocation.ID])
})

const endings = [
  { name: 'stopped in order', reason: SERVER_STOPS, isShort: true },
  { name: 'was lost', reason: 'closed with code 1006', isShort: false },
]
for (const { name, reason, isShort } of endings)
  test(`a server that ${name} is ${isShort ? 'soon' : 'more and more seldom'} looked for`, async () => {
    const server = new FakeServer()
    const dial = async (): Promise<Channel> => {
      const channel = await server.dial()
      return {
        send: (text) => channel.send(text),
        onMessage: (receive) => channel.onMessage(receive),
        onClose: (closed) => channel.onClose(() => closed(reason)),
        close: () => channel.close(),
      }
    }
    const clock = new SimulatedClock()
    const agent = anAgent({ dial, clock, drivers: [mockDriver(clock)] })
    await agent.start()
    await turn()
    server.isReachable = false
    server.channel?.close()
    await pass(clock, 20_000)
    const before = server.dials
    await pass(clock, 20_000)
    // Every two seconds at the latest, or every thirty.
    const dials = server.dials - before
    assert.ok(isShort ? dials >= 10 : dials <= 4, `${dials} dials in 20 s`)
    // It is not back after a minute, so it is gone for longer.
    await pass(clock, 60_000)
    const late = server.dials
    await pass(clock, 20_000)
    assert.ok(server.dials - late <= 4, `${server.dials - late} dials in 20 s after a minute`)
    await agent.stop()
  })
