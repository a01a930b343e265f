import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  allocationId,
  anAssignment,
  aSimulation,
  aTask,
  pass,
  restartPolicy,
  someMemoryStorage,
  stopped,
  turn,
  type AssignmentFields,
  type Simulation,
} from '../../../test/build/agent.ts'
import { aCheck, aService } from '../../../test/build/service.ts'
import type { AgentCheck } from '../assignment.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'

const ID = allocationId(1)

function offeredBy({ server }: Simulation, id = ID): readonly string[] {
  return (server.services.get(id) ?? []).map((service) => service.ServiceName).toSorted()
}

/** A group with a service of its own and one of its task. */
function served(fields: AssignmentFields = {}) {
  return anAssignment({
    tasks: [aTask({ Services: [aService({ Name: 'of-task' })] })],
    ...fields,
    group: { Services: [aService({ Name: 'of-group' })], ...fields.group },
  })
}

test('services: the group offers its own before a task starts, a task its own while it runs', async () => {
  const prestart = { Hook: 'prestart', Sidecar: false }
  const tasks = [
    aTask({ Name: 'init', Lifecycle: prestart, Config: { run_for: '5s' } }),
    aTask({ Services: [aService({ Name: 'of-task' })] }),
  ]
  const sim = await aSimulation({ assignments: [served({ tasks })] })
  assert.deepEqual(offeredBy(sim), ['of-group'])
  await pass(sim.clock, 5_000)
  assert.deepEqual(offeredBy(sim), ['of-group', 'of-task'])
  await sim.agent.stop()
})

test('services: deregistered before the shutdown delay, removed at the end', async () => {
  const delayMs = 4_000
  const assignment = served({
    tasks: [aTask({ Services: [aService({ Name: 'of-task' })], ShutdownDelay: nsFromMs(delayMs) })],
    group: { ShutdownDelay: nsFromMs(delayMs), Services: [aService({ Name: 'of-group' })] },
  })
  const sim = await aSimulation({ assignments: [assignment] })
  assert.deepEqual(offeredBy(sim), ['of-group', 'of-task'])
  sim.server.assign(stopped(assignment))
  await turn()
  assert.deepEqual(offeredBy(sim), ['of-task'])
  await pass(sim.clock, delayMs + 100)
  assert.deepEqual(offeredBy(sim), [])
  assert.equal(sim.driver.running.length, 1, 'the task still runs')
  await pass(sim.clock, 10_000)
  assert.deepEqual(sim.server.services.size, 0)
  await sim.agent.stop()
})

test('services: a task that ends and starts again is away in between', async () => {
  const task = aTask({
    Services: [aService({ Name: 'of-task' })],
    Config: { run_for: '1s', exit_code: 1 },
    RestartPolicy: restartPolicy({ Attempts: 3, Delay: nsFromMs(5_000) }),
  })
  const sim = await aSimulation({ assignments: [served({ tasks: [task] })] })
  await pass(sim.clock, 1_100)
  assert.deepEqual(offeredBy(sim), ['of-group'])
  await pass(sim.clock, 5_000)
  assert.deepEqual(offeredBy(sim), ['of-group', 'of-task'])
  await sim.agent.stop()
})

test('services: promotion of a canary changes its tags, and nothing else', async () => {
  const Timestamp = '2026-01-01T00:00:00Z'
  const status = { Healthy: true, Timestamp, Canary: true, ModifyIndex: 1 }
  const group = { Services: [aService({ Tags: ['live'], CanaryTags: ['trial'] })] }
  const assignment = anAssignment({ group, allocation: { DeploymentStatus: status } })
  const sim = await aSimulation({ assignments: [assignment] })
  const tags = () => sim.server.services.get(ID)?.flatMap((service) => service.Tags)
  assert.deepEqual(tags(), ['trial'])
  const promoted = { ...assignment.allocation, DeploymentStatus: { ...status, Canary: false } }
  sim.server.assign({ ...assignment, allocation: promoted })
  await turn()
  assert.deepEqual(tags(), ['live'])
  await sim.agent.stop()
})

test('services: a new channel gets everything, including removals', async () => {
  const sim = await aSimulation({ assignments: [served()] })
  sim.server.isReachable = false
  sim.server.channel?.close()
  await turn()
  // A server that forgot everything, and remembers something that is gone.
  sim.server.services.clear()
  sim.server.services.set(allocationId(9), [])
  sim.server.isReachable = true
  await pass(sim.clock, 60_000)
  assert.deepEqual(offeredBy(sim), ['of-group', 'of-task'])
  assert.deepEqual([...sim.server.services.keys()], [ID])
  await sim.agent.stop()
})

test('services: stay registered while an agent recovers a running task', async () => {
  const storage = someMemoryStorage()
  const first = await aSimulation({ assignments: [served()], storage })
  await first.agent.stop()
  assert.deepEqual(offeredBy(first), ['of-group', 'of-task'], 'the agent goes, the services stay')
  const seen: number[] = []
  const { server } = first
  const second = await aSimulation({ ...first, storage })
  for (let i = 0; i < 20; i++) {
    seen.push(offeredBy({ ...second, server }).length)
    await turn()
  }
  assert.deepEqual(new Set(seen), new Set([2]))
  await second.agent.stop()
})

test('services: an invalid one affects neither the task nor other services', async () => {
  const services = [aService({ Name: 'bad', PortLabel: 'nowhere' }), aService({ Name: 'good' })]
  const assignment = anAssignment({ tasks: [aTask({ Services: services })] })
  const sim = await aSimulation({ assignments: [assignment] })
  assert.equal(sim.server.statusOf(ID), 'running')
  assert.deepEqual(offeredBy(sim), ['good'])
  await sim.agent.stop()
})

// Checks, against a real server

interface Target {
  readonly server: Server
  readonly port: number
  code: number
  asked: number
}

async function aTarget(t: TestContext): Promise<Target> {
  const server = createServer((_request, response) => {
    target.asked += 1
    response.writeHead(target.code).end(String(target.code))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const target: Target = { server, port: address.port, code: 200, asked: 0 }
  return target
}

function checked({ port }: Target, check: Partial<AgentCheck>, fields: AssignmentFields = {}) {
  const Checks = [aCheck({ Type: 'http', Path: '/', ...check })]
  const service = aService({ Address: '127.0.0.1', PortLabel: String(port), Checks })
  const task = aTask({ Services: [service], RestartPolicy: restartPolicy({ Attempts: 5 }) })
  return anAssignment({ tasks: [task], ...fields })
}

/** Waits until the target was asked so often, and the answer has come back. */
async function untilAsked(target: Target, times: number): Promise<void> {
  while (target.asked < times) await setImmediate()
  for (let i = 0; i < 50; i++) await setImmediate()
}

test('checks: run at the start, then at each interval, until the task ends', async (t) => {
  const target = await aTarget(t)
  const assignment = checked(target, { Interval: nsFromMs(10_000) })
  const sim = await aSimulation({ assignments: [assignment] })
  await untilAsked(target, 1)
  assert.equal(target.asked, 1)
  for (const times of [2, 3]) {
    sim.clock.advance(10_000)
    await untilAsked(target, times)
    assert.equal(target.asked, times)
  }
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, 60_000)
  assert.equal(target.asked, 3)
  await sim.agent.stop()
})

test('checks: a result that changes nothing is not reported', async (t) => {
  const target = await aTarget(t)
  const sim = await aSimulation({
    assignments: [checked(target, { Interval: nsFromMs(10_000) })],
  })
  const reports = (): number =>
    sim.server.received.filter((message) => message['kind'] === 'status').length
  await untilAsked(target, 1)
  const before = reports()
  for (const [times, code] of [
    [2, 200],
    [3, 500],
    [4, 200],
  ] as const) {
    target.code = code
    sim.clock.advance(10_000)
    await untilAsked(target, times)
  }
  assert.equal(reports(), before)
  sim.server.channel?.close()
  await pass(sim.clock, 5_000)
  assert.ok(reports() > before, 'a new channel is told everything')
  await sim.agent.stop()
})

/** The rules of a deployment that goes by checks. */
function byChecks(fields: object = {}): AssignmentFields {
  const times = { MinHealthyTime: nsFromMs(10_000), HealthyDeadline: nsFromMs(300_000) }
  return {
    group: { Update: { HealthCheck: 'checks', ...times, ...fields } },
    allocation: { DeploymentID: 'd' },
  }
}

function healthOf({ server }: Simulation): boolean | null | undefined {
  return server.updates.get(ID)?.DeploymentStatus?.Healthy
}

test('health: a roll-out that goes by checks waits until they pass for long enough', async (t) => {
  const target = await aTarget(t)
  target.code = 500
  const check = { Interval: nsFromMs(5_000) }
  const sim = await aSimulation({ assignments: [checked(target, check, byChecks())] })
  await untilAsked(target, 1)
  for (const [times, code] of [
    [2, 500],
    [3, 200],
    [4, 500],
    [5, 200],
    [6, 200],
  ] as const) {
    target.code = code
    sim.clock.advance(5_000)
    await untilAsked(target, times)
    assert.equal(healthOf(sim), undefined, `after ${times} looks`)
  }
  sim.clock.advance(5_000)
  await untilAsked(target, 7)
  assert.equal(healthOf(sim), true)
  await sim.agent.stop()
})

test('health: checks that do not pass by the deadline make it unhealthy and say which', async (t) => {
  const target = await aTarget(t)
  target.code = 500
  const rules = byChecks({ HealthyDeadline: nsFromMs(20_000) })
  const sim = await aSimulation({
    assignments: [checked(target, { Interval: nsFromMs(60_000) }, rules)],
  })
  await untilAsked(target, 1)
  await pass(sim.clock, 20_000)
  assert.equal(healthOf(sim), false)
  const last = sim.server.updates.get(ID)?.TaskStates?.['web']?.Events.at(-1)
  assert.equal(last?.Type, 'Alloc Unhealthy')
  assert.match(last.Message, /^Services not healthy by deadline: alive \(.*500.*\)$/)
  await sim.agent.stop()
})

test('health: a roll-out that goes by task states does not ask for the checks', async (t) => {
  const target = await aTarget(t)
  target.code = 500
  const rules = byChecks({ HealthCheck: 'task_states' })
  const sim = await aSimulation({ assignments: [checked(target, {}, rules)] })
  await untilAsked(target, 1)
  await pass(sim.clock, 10_000)
  assert.equal(healthOf(sim), true)
  await sim.agent.stop()
})

test('check_restart: as many failures in a row as allowed restart the task as a failure', async (t) => {
  const target = await aTarget(t)
  target.code = 500
  const CheckRestart = { Limit: 2, Grace: nsFromMs(0), IgnoreWarnings: false }
  const assignment = checked(target, { Interval: nsFromMs(5_000), CheckRestart })
  const sim = await aSimulation({ assignments: [assignment] })
  await untilAsked(target, 1)
  sim.clock.advance(5_000)
  await untilAsked(target, 2)
  await turn()
  const state = sim.server.updates.get(ID)?.TaskStates?.['web']
  const types = state?.Events.map((event) => event.Type) ?? []
  assert.ok(types.includes('Restart Signaled'), types.join(', '))
  assert.equal(types.at(-1), 'Restarting')
  assert.deepEqual(offeredBy(sim), [])
  target.code = 200
  await pass(sim.clock, 16_000)
  assert.equal(sim.server.statusOf(ID), 'running')
  assert.deepEqual(offeredBy(sim), ['web'])
  await sim.agent.stop()
})

for (const { code, want } of [
  { code: 0, want: true },
  { code: 2, want: undefined },
])
  test(`checks: a script that ends with ${code} inside the task decides a roll-out`, async () => {
    const check = aCheck({ Type: 'script', Command: '/bin/check', TaskName: 'web' })
    const task = aTask({
      Config: { exec_command: { run_for: '1s', exit_code: code } },
      Services: [aService({ Checks: [check] })],
    })
    const sim = await aSimulation({
      assignments: [anAssignment({ ...byChecks({ MinHealthyTime: 0 }), tasks: [task] })],
    })
    await pass(sim.clock, 5_000)
    assert.equal(healthOf(sim), want)
    await sim.agent.stop()
  })

test('checks: a script of a group service is first run when its task runs', async () => {
  const Interval = nsFromMs(600_000)
  const check = aCheck({ Type: 'script', Command: '/bin/check', TaskName: 'web', Interval })
  const rules = byChecks({ MinHealthyTime: 0 })
  const prestart = { Hook: 'prestart', Sidecar: false }
  const sim = await aSimulation({
    assignments: [
      anAssignment({
        ...rules,
        group: { ...rules.group, Services: [aService({ Checks: [check] })] },
        tasks: [
          aTask({ Name: 'init', Lifecycle: prestart, Config: { run_for: '5s' } }),
          aTask({ Config: { exec_command: { run_for: '1s', exit_code: 0 } } }),
        ],
      }),
    ],
  })
  await pass(sim.clock, 4_000)
  assert.equal(healthOf(sim), undefined)
  await pass(sim.clock, 4_000)
  assert.equal(healthOf(sim), true, 'a first run before the task would count for ten minutes')
  await sim.agent.stop()
})

test('services: a task with an address of its own is offered there when it asks for it', async () => {
  const Services = [aService({ AddressMode: 'driver', PortLabel: '8080' })]
  const task = aTask({ Config: { driver_ip: '172.17.0.9' }, Services })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })] })
  const [service] = sim.server.services.get(ID) ?? []
  assert.deepEqual([service?.Address, service?.Port], ['172.17.0.9', 8_080])
  await sim.agent.stop()
})
