import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AgentMessage } from '@reeve/contract'
import { Value } from 'typebox/value'
import {
  allocationId,
  anAgent,
  anAssignment,
  aSimulation,
  aTask,
  FakeServer,
  mockDriver,
  NODE_ID,
  pass,
  restartPolicy,
  someMemoryStorage,
  stopped,
  turn,
} from '../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { AgentStore } from './store/agent-store.ts'

const ID = allocationId(1)

test('the hello message contains identity, resources and drivers of the node', async () => {
  const server = new FakeServer()
  const clock = new SimulatedClock()
  const drivers = [mockDriver(clock)]
  const agent = anAgent({ dial: server.dial, clock, drivers, joinToken: 'let-me-in' })
  await agent.start()
  await turn()
  const [hello] = server.hellos
  assert.ok(Value.Check(AgentMessage, hello))
  assert.equal(hello?.version, 1)
  assert.equal(hello?.joinToken, 'let-me-in')
  assert.equal(hello?.region, undefined, 'nobody told it one')
  assert.equal(hello?.node.ID, NODE_ID)
  assert.equal(hello?.node.Attributes['driver.mock'], '1')
  assert.equal(hello?.node.Drivers['mock']?.Healthy, true)
  assert.equal(agent.nodeId, NODE_ID)
  await agent.stop()
})

test('every message that an agent sends fits the contract', async () => {
  const task = aTask({ Config: { run_for: '1s', exit_code: 1 }, RestartPolicy: restartPolicy() })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })] })
  sim.driver.setHealth({ detected: true, healthy: false, description: 'ill', attributes: {} })
  await pass(sim.clock, 60_000)
  const kinds = new Set(sim.server.received.map((message) => String(message['kind'])))
  assert.deepEqual([...kinds].toSorted(), ['heartbeat', 'hello', 'node', 'services', 'status'])
  for (const message of sim.server.received) assert.ok(Value.Check(AgentMessage, message))
  await sim.agent.stop()
})

test('drivers are prewarmed for a new task immediately, and for each further start', async () => {
  const clock = new SimulatedClock()
  let expected = 0
  const driver = Object.assign(mockDriver(clock), { prewarm: () => (expected += 1) })
  const task = aTask({ Config: { run_for: '5s' }, RestartPolicy: restartPolicy({ Attempts: 1 }) })
  const sim = await aSimulation({ clock, driver, assignments: [anAssignment({ tasks: [task] })] })
  await turn()
  assert.equal(expected, 2, 'when it came, and when it started')
  await pass(clock, 60_000)
  assert.equal(sim.server.eventsOf(ID, 'web').filter((type) => type === 'Started').length, 2)
  assert.equal(expected, 3)
  await sim.agent.stop()
})

test('changes during a report in flight are merged into the next report', async () => {
  const sim = await aSimulation()
  sim.server.acknowledges = false
  const task = aTask({ Config: { run_for: '1s' }, RestartPolicy: restartPolicy({ Attempts: 5 }) })
  sim.server.assign(
    anAssignment({ tasks: [task] }),
    anAssignment({ allocation: { ID: allocationId(2) } }),
  )
  await pass(sim.clock, 20_000)
  const reports = () => sim.server.received.filter((message) => message['kind'] === 'status').length
  assert.equal(reports(), 1)
  sim.server.acknowledge()
  await turn()
  assert.equal(reports(), 2)
  assert.ok(sim.server.eventsOf(ID, 'web').includes('Restarting'))
  await sim.agent.stop()
})

test('an unacknowledged report closes the channel; the next one reports everything', async () => {
  const sim = await aSimulation({ assignments: [anAssignment()] })
  sim.server.acknowledges = false
  sim.server.assign(stopped(anAssignment()))
  await turn()
  sim.server.acknowledges = true
  sim.server.updates.clear()
  await pass(sim.clock, 31_000)
  assert.equal(sim.server.dials, 2)
  assert.equal(sim.server.statusOf(ID), 'complete')
  await sim.agent.stop()
})

test('tasks continue without a server, and their status is sent after reconnecting', async () => {
  const task = aTask({ Config: { run_for: '60s' } })
  const assignment = anAssignment({ job: { Type: 'batch' }, tasks: [task] })
  const sim = await aSimulation({ assignments: [assignment] })
  sim.server.isReachable = false
  sim.server.channel?.close()
  await pass(sim.clock, 50_000)
  assert.equal(sim.driver.running.length, 1)
  assert.equal(sim.server.statusOf(ID), 'running')
  await pass(sim.clock, 20_000)
  sim.server.isReachable = true
  await pass(sim.clock, 31_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.equal(sim.driver.running.length, 0)
  await sim.agent.stop()
})

test('tasks marked unknown get one Reconnected event', async () => {
  const done = aTask({ Name: 'init', Lifecycle: { Hook: 'prestart', Sidecar: false } })
  const init = { ...done, Config: { run_for: '1s' } }
  const assignment = anAssignment({ tasks: [init, aTask()] })
  const sim = await aSimulation({ assignments: [assignment] })
  await pass(sim.clock, 5_000)
  const before = sim.server.eventsOf(ID, 'init')
  sim.server.isReachable = false
  sim.server.channel?.close()
  const unknown = {
    ...assignment,
    allocation: { ...assignment.allocation, ClientStatus: 'unknown' as const },
  }
  sim.server.assign(unknown)
  await pass(sim.clock, 5_000)
  sim.server.isReachable = true
  await pass(sim.clock, 31_000)
  assert.equal(sim.server.eventsOf(ID, 'web').at(-1), 'Reconnected')
  assert.deepEqual(sim.server.eventsOf(ID, 'init'), before)
  const count = sim.server.eventsOf(ID, 'web').length
  sim.server.assign(unknown)
  await pass(sim.clock, 1_000)
  assert.equal(sim.server.eventsOf(ID, 'web').length, count)
  await sim.agent.stop()
})

test('dialling again pauses longer with each failure', async () => {
  const server = new FakeServer()
  server.isReachable = false
  const sim = await aSimulation({ server })
  await pass(sim.clock, 10_000)
  const early = server.dials
  await pass(sim.clock, 60_000)
  assert.ok(early >= 4 && early <= 8, `${early} dials in the first ten seconds`)
  assert.ok(server.dials - early <= 5, `${server.dials - early} dials in the minute after`)
  await sim.agent.stop()
})

test('a server without heartbeats is replaced by another', async () => {
  const sim = await aSimulation()
  sim.server.answersHeartbeats = false
  await pass(sim.clock, 60_000)
  assert.ok(sim.server.dials >= 2)
  await sim.agent.stop()
})

test('an agent that stood still for a while does not blame its server', async () => {
  const sim = await aSimulation()
  await pass(sim.clock, 20_000)
  sim.clock.pause(120_000)
  await pass(sim.clock, 20_000)
  assert.equal(sim.server.dials, 1)
  await sim.agent.stop()
})

test('a refused node keeps trying, slowly', async () => {
  const server = new FakeServer()
  server.refusal = 'wrong join token'
  const sim = await aSimulation({ server })
  await pass(sim.clock, 60_000)
  assert.ok(server.dials >= 3 && server.dials <= 12, `${server.dials} dials in a minute`)
  server.refusal = ''
  server.assign(anAssignment())
  await pass(sim.clock, 31_000)
  assert.equal(server.statusOf(ID), 'running')
  await sim.agent.stop()
})

test('a broken frame ends the channel, an unknown kind does not', async () => {
  const sim = await aSimulation()
  sim.server.send({ kind: 'from-the-future', x: 1 })
  await turn()
  assert.equal(sim.server.dials, 1)
  sim.server.channel?.send('not json')
  await pass(sim.clock, 1_000)
  assert.equal(sim.server.dials, 2)
  await sim.agent.stop()
})

test('allocations removed by the servers are stopped and removed', async () => {
  const storage = someMemoryStorage()
  const sim = await aSimulation({ assignments: [anAssignment()], storage })
  sim.server.remove(ID)
  await turn()
  assert.equal(sim.driver.running.length, 0)
  assert.deepEqual(await storage.store.load(), [])
  await sim.agent.stop()
})

test('allocations removed while the agent was down are stopped after its restart', async () => {
  const sim = await aSimulation({
    assignments: [anAssignment(), anAssignment({ allocation: { ID: allocationId(2) } })],
  })
  sim.server.forget(ID)
  sim.server.channel?.close()
  await pass(sim.clock, 2_000)
  assert.deepEqual(
    sim.driver.running.map((task) => task.launch.handle.allocationId),
    [allocationId(2)],
  )
  await sim.agent.stop()
})

test('a listing in several messages counts only as a whole', async () => {
  const [first, second] = [anAssignment(), anAssignment({ allocation: { ID: allocationId(2) } })]
  const sim = await aSimulation({ assignments: [first, second] })
  const part = (assignment: typeof first, more: boolean) => {
    const { allocation, job } = assignment
    return {
      kind: 'desired',
      full: true,
      more,
      index: 2,
      allocations: [{ allocation, job }],
      removed: [],
    }
  }
  sim.server.send(part(first, true))
  await turn()
  assert.equal(sim.driver.running.length, 2)
  sim.server.send(part(second, false))
  await turn()
  assert.equal(sim.driver.running.length, 2)
  await sim.agent.stop()
})

test('an allocation stopped before its start is reported, a terminal one is not', async () => {
  const over = anAssignment({ allocation: { ID: allocationId(2), ClientStatus: 'failed' } })
  const sim = await aSimulation({ assignments: [stopped(anAssignment()), over] })
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.equal(sim.server.updates.has(allocationId(2)), false)
  assert.equal(sim.driver.running.length, 0)
  await sim.agent.stop()
})

test('an allocation that cannot be read fails alone, with the place of the error', async () => {
  const sim = await aSimulation()
  const good = anAssignment({ allocation: { ID: allocationId(2) } })
  const allocations = [
    { allocation: { ...anAssignment().allocation, Name: 7 }, job: good.job },
    { allocation: { ID: '../../etc' }, job: {} },
    { allocation: good.allocation, job: good.job },
  ]
  sim.server.send({ kind: 'desired', full: false, index: 1, allocations, removed: [] })
  await turn()
  assert.equal(sim.server.statusOf(ID), 'failed')
  assert.match(
    sim.server.updates.get(ID)?.ClientDescription ?? '',
    /\/allocation\/Name must be string/,
  )
  assert.equal(sim.server.statusOf(allocationId(2)), 'running')
  await sim.agent.stop()
})

test('a node message follows when a driver falls ill', async () => {
  const sim = await aSimulation()
  await pass(sim.clock, 30_000)
  const nodes = () => sim.server.received.filter((message) => message['kind'] === 'node')
  assert.deepEqual(nodes(), [])
  sim.driver.setHealth({ detected: true, healthy: false, description: 'ill', attributes: {} })
  await pass(sim.clock, 30_000)
  assert.equal(nodes().length, 1)
  await sim.agent.stop()
})

test('an agent that starts again takes its tasks over without an event', async () => {
  const storage = someMemoryStorage()
  const sim = await aSimulation({ assignments: [anAssignment()], storage })
  await sim.agent.stop()
  assert.equal(sim.driver.running.length, 1)
  const next = await aSimulation({ ...sim, storage })
  await turn()
  assert.equal(sim.driver.running.length, 1)
  assert.deepEqual(next.server.eventsOf(ID, 'web'), ['Received', 'Task Setup', 'Started'])
  await next.agent.stop()
})

test('the exit of a task that ended while no agent was there is reported as it was', async () => {
  const storage = someMemoryStorage()
  const task = aTask({ Config: { run_for: '10s', exit_code: 3 } })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })], storage })
  await sim.agent.stop()
  await pass(sim.clock, 60_000, 1_000)
  const next = await aSimulation({ ...sim, storage })
  await turn()
  const state = next.server.updates.get(ID)?.TaskStates?.['web']
  assert.equal(state?.Events.find((event) => event.Type === 'Terminated')?.ExitCode, 3)
  assert.equal(state?.FinishedAt, '2026-01-01T00:00:10.000Z')
  assert.equal(next.server.statusOf(ID), 'failed')
  await next.agent.stop()
})

test('a lost task restarts only if a server still wants it', async () => {
  const storage = someMemoryStorage()
  const task = aTask({ RestartPolicy: restartPolicy({ Delay: 0 }) })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })], storage })
  await sim.agent.stop()
  sim.driver.markLost(sim.driver.running[0]?.launch.handle.id ?? '')
  sim.server.isReachable = false
  const next = await aSimulation({ ...sim, storage })
  await pass(sim.clock, 5_000)
  assert.equal(sim.driver.running.length, 0)
  sim.server.isReachable = true
  await pass(sim.clock, 31_000)
  assert.equal(sim.driver.running.length, 1)
  assert.deepEqual(next.server.eventsOf(ID, 'web').slice(-3), [
    'Failed Restoring Task',
    'Restarting',
    'Started',
  ])
  await next.agent.stop()
})

test('an agent that ends between two runs waits only the rest of the delay', async () => {
  const storage = someMemoryStorage()
  const task = aTask({ Config: { run_for: '1s', exit_code: 1 }, RestartPolicy: restartPolicy() })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })], storage })
  await pass(sim.clock, 6_000)
  await sim.agent.stop()
  const next = await aSimulation({ ...sim, storage })
  await pass(sim.clock, 9_000)
  assert.equal(sim.driver.running.length, 0)
  await pass(sim.clock, 1_100)
  assert.equal(sim.driver.running.length, 1)
  await next.agent.stop()
})

test('a restarted agent continues the kill of a task', async () => {
  const storage = someMemoryStorage()
  const task = aTask({ ShutdownDelay: nsFromMs(10_000) })
  const assignment = anAssignment({ tasks: [task] })
  const sim = await aSimulation({ assignments: [assignment], storage })
  const StartedAt = sim.server.updates.get(ID)?.TaskStates?.['web']?.StartedAt
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, 4_000)
  await sim.agent.stop()
  await pass(sim.clock, 2_000)
  const next = await aSimulation({ ...sim, storage })
  await pass(sim.clock, 3_900)
  assert.equal(sim.driver.running.length, 1)
  await pass(sim.clock, 200)
  assert.equal(sim.driver.running.length, 0)
  const state = next.server.updates.get(ID)?.TaskStates?.['web']
  assert.equal(state?.StartedAt, StartedAt)
  assert.deepEqual(next.server.eventsOf(ID, 'web').slice(2), [
    'Started',
    'Killing',
    'Waiting for shutdown delay',
    'Terminated',
    'Killed',
  ])
  await next.agent.stop()
})

test('restart attempts are remembered across agents', async () => {
  const storage = someMemoryStorage()
  const RestartPolicy = restartPolicy({ Attempts: 1, Delay: 0 })
  const task = aTask({ Config: { run_for: '1s', exit_code: 1 }, RestartPolicy })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })], storage })
  await pass(sim.clock, 1_500)
  await sim.agent.stop()
  const next = await aSimulation({ ...sim, storage })
  await pass(sim.clock, 1_000)
  assert.equal(next.server.statusOf(ID), 'failed')
  await next.agent.stop()
})

test('stop leaves tasks running unless it is asked to stop them', async () => {
  const sim = await aSimulation({ assignments: [anAssignment()] })
  const stopping = sim.agent.stop({ killTasks: true })
  await pass(sim.clock, 1_000)
  await stopping
  assert.equal(sim.driver.running.length, 0)
})

test('a stop that comes in the middle of a start loses nothing', async () => {
  const storage = someMemoryStorage()
  const task = aTask({ Config: { start_block_for: '5s' } })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })], storage })
  const stopping = sim.agent.stop()
  await pass(sim.clock, 6_000)
  await stopping
  assert.equal(sim.driver.running.length, 1)
  const next = await aSimulation({ ...sim, storage })
  await turn()
  assert.equal(sim.driver.running.length, 1)
  assert.equal(next.server.statusOf(ID), 'running')
  await next.agent.stop()
})

test('an agent killed between recording a start and starting starts the task once', async () => {
  const storage = someMemoryStorage()
  // Saves, and then never comes back: the moment in which the process is killed.
  const store: AgentStore = {
    load: () => storage.store.load(),
    saveAssignment: (assignment) => storage.store.saveAssignment(assignment),
    remove: (id) => storage.store.remove(id),
    saveTasks: async (id, tasks) => {
      await storage.store.saveTasks(id, tasks)
      const isStarting = Object.values(tasks).some((task) => task.handle !== null)
      if (isStarting) await new Promise(() => undefined)
    },
  }
  const sim = await aSimulation({ assignments: [anAssignment()], storage: { ...storage, store } })
  await turn()
  assert.equal(sim.driver.running.length, 0)
  const next = await aSimulation({ ...sim, storage })
  await turn()
  assert.equal(sim.driver.running.length, 1)
  assert.equal(next.server.statusOf(ID), 'running')
  assert.deepEqual(next.server.eventsOf(ID, 'web'), ['Received', 'Task Setup', 'Started'])
  await next.agent.stop()
})

test('a state that cannot be saved fails the start, and is tried again by policy', async () => {
  const storage = someMemoryStorage()
  const store: AgentStore = {
    load: () => storage.store.load(),
    saveAssignment: (assignment) => storage.store.saveAssignment(assignment),
    remove: (id) => storage.store.remove(id),
    saveTasks: () => Promise.reject(new Fault('agent-state', 'disk full')),
  }
  const task = aTask({ RestartPolicy: restartPolicy() })
  const sim = await aSimulation({
    assignments: [anAssignment({ tasks: [task] })],
    storage: { ...storage, store },
  })
  await turn()
  assert.equal(sim.driver.running.length, 0)
  assert.deepEqual(sim.server.eventsOf(ID, 'web').slice(-2), ['Setup Failure', 'Restarting'])
  await sim.agent.stop()
})
