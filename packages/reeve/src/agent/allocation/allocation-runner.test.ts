import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import type { AgentTask } from '../assignment.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  allocationId,
  anAssignment,
  aSimulation,
  aTask,
  pass,
  restartPolicy,
  stopped,
  turn,
  type Simulation,
} from '../../../test/build/agent.ts'

const ID = allocationId(1)

function runningTasks({ driver }: Simulation): readonly string[] {
  return driver.running.map((task) => task.launch.handle.task)
}

function lifecycle(Hook: string, Sidecar = false): Pick<AgentTask, 'Lifecycle'> {
  return { Lifecycle: { Hook, Sidecar } }
}

test('a batch task that succeeds makes its allocation complete', async () => {
  const task = aTask({ Config: { run_for: '10s' } })
  const sim = await aSimulation({
    assignments: [anAssignment({ job: { Type: 'batch' }, tasks: [task] })],
  })
  assert.equal(sim.server.statusOf(ID), 'running')
  assert.equal(sim.server.updates.get(ID)?.ClientDescription, 'Tasks are running')
  await pass(sim.clock, 10_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.deepEqual(sim.server.eventsOf(ID, 'web'), [
    'Received',
    'Task Setup',
    'Started',
    'Terminated',
  ])
  const state = sim.server.updates.get(ID)?.TaskStates?.['web']
  assert.equal(state?.State, 'dead')
  assert.equal(state?.Failed, false)
  assert.equal(state?.StartedAt, '2026-01-01T00:00:00.000Z')
  assert.equal(state?.FinishedAt, '2026-01-01T00:00:10.000Z')
  await sim.agent.stop()
})

test('a failing service task is restarted by policy, then fails its allocation', async () => {
  const task = aTask({
    Config: { run_for: '1s', exit_code: 3 },
    RestartPolicy: restartPolicy({ Attempts: 2, Delay: nsFromMs(15_000) }),
  })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })] })
  await pass(sim.clock, 1_000)
  assert.equal(sim.server.statusOf(ID), 'pending')
  await pass(sim.clock, 40_000)
  assert.equal(sim.server.statusOf(ID), 'failed')
  // `Received` was the eleventh from the end.
  assert.deepEqual(sim.server.eventsOf(ID, 'web'), [
    'Task Setup',
    'Started',
    'Terminated',
    'Restarting',
    'Started',
    'Terminated',
    'Restarting',
    'Started',
    'Terminated',
    'Not Restarting',
  ])
  const state = sim.server.updates.get(ID)?.TaskStates?.['web']
  assert.equal(state?.Restarts, 2)
  assert.equal(state?.Failed, true)
  await sim.agent.stop()
})

test('with mode delay the task waits for the end of the interval and restarts', async () => {
  const task = aTask({
    Config: { run_for: '1s', exit_code: 1 },
    RestartPolicy: restartPolicy({
      Attempts: 1,
      Interval: nsFromMs(60_000),
      Delay: nsFromMs(1_000),
      Mode: 'delay',
    }),
  })
  const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })] })
  await pass(sim.clock, 5_000)
  assert.deepEqual(runningTasks(sim), [])
  assert.match(
    sim.server.updates.get(ID)?.TaskStates?.['web']?.Events.at(-1)?.DisplayMessage ?? '',
    /waiting for the rest of the interval - Task restarting in 57s/,
  )
  await pass(sim.clock, 55_500)
  assert.deepEqual(runningTasks(sim), ['web'])
  await sim.agent.stop()
})

test('prestart, sidecar, main, poststart and poststop begin in this order', async () => {
  const tasks = [
    aTask({ Name: 'after', ...lifecycle('poststop'), Config: { run_for: '1s' } }),
    aTask({ Name: 'main', Config: { run_for: '20s' } }),
    aTask({ Name: 'late', ...lifecycle('poststart'), Config: { run_for: '1s' } }),
    aTask({ Name: 'proxy', ...lifecycle('prestart', true) }),
    aTask({ Name: 'init', ...lifecycle('prestart'), Config: { run_for: '5s' } }),
  ]
  const assignment = anAssignment({ job: { Type: 'batch' }, tasks })
  const sim = await aSimulation({ assignments: [assignment] })
  assert.deepEqual(runningTasks(sim), ['proxy', 'init'])
  await pass(sim.clock, 5_000)
  assert.deepEqual(runningTasks(sim), ['proxy', 'main', 'late'])
  await pass(sim.clock, 1_000)
  assert.deepEqual(runningTasks(sim), ['proxy', 'main'])
  await pass(sim.clock, 19_000)
  // The main task is done: its sidecar is ended, then poststop runs.
  assert.deepEqual(runningTasks(sim), ['after'])
  assert.ok(sim.server.eventsOf(ID, 'proxy').includes('Main Tasks Dead'))
  await pass(sim.clock, 1_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  await sim.agent.stop()
})

test('a failed task kills its siblings with the reason, and poststop still runs', async () => {
  const tasks = [
    aTask({ Name: 'bad', Config: { run_for: '2s', exit_code: 1 } }),
    aTask({ Name: 'good' }),
    aTask({ Name: 'after', ...lifecycle('poststop'), Config: { run_for: '1s' } }),
  ]
  const sim = await aSimulation({ assignments: [anAssignment({ tasks })] })
  await pass(sim.clock, 2_000)
  assert.equal(sim.server.statusOf(ID), 'failed')
  const events = sim.server.updates.get(ID)?.TaskStates?.['good']?.Events ?? []
  assert.deepEqual(
    events.map((event) => event.Type),
    ['Received', 'Task Setup', 'Started', 'Sibling Task Failed', 'Killing', 'Terminated', 'Killed'],
  )
  assert.equal(events[3]?.FailedSibling, 'bad')
  assert.equal(events[3]?.Details['failed_sibling'], 'bad')
  assert.deepEqual(runningTasks(sim), ['after'])
  await pass(sim.clock, 1_000)
  assert.equal(sim.server.statusOf(ID), 'failed')
  assert.equal(sim.server.updates.get(ID)?.TaskStates?.['good']?.Failed, false)
  await sim.agent.stop()
})

test('the end of the leader ends the others, also when it succeeded', async () => {
  const tasks = [
    aTask({ Name: 'lead', Leader: true, Config: { run_for: '3s' } }),
    aTask({ Name: 'other' }),
  ]
  const assignment = anAssignment({ job: { Type: 'batch' }, tasks })
  const sim = await aSimulation({ assignments: [assignment] })
  await pass(sim.clock, 3_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.ok(sim.server.eventsOf(ID, 'other').includes('Leader Task Dead'))
  await sim.agent.stop()
})

test('a stop ends the leader first, then the others, then the sidecars', async () => {
  const tasks = [
    aTask({ Name: 'proxy', ...lifecycle('prestart', true), Config: { kill_after: '1s' } }),
    aTask({ Name: 'other', Config: { kill_after: '1s' } }),
    aTask({ Name: 'lead', Leader: true, Config: { kill_after: '1s' } }),
  ]
  const assignment = anAssignment({ tasks })
  const sim = await aSimulation({ assignments: [assignment] })
  assert.deepEqual(runningTasks(sim).toSorted(), ['lead', 'other', 'proxy'])
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, 1_000)
  assert.deepEqual(runningTasks(sim).toSorted(), ['other', 'proxy'])
  await pass(sim.clock, 1_000)
  assert.deepEqual(runningTasks(sim), ['proxy'])
  await pass(sim.clock, 1_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  await sim.agent.stop()
})

test('a stop waits the shutdown delays, signals, and forces after the kill timeout', async () => {
  const task = aTask({
    KillSignal: 'SIGTERM',
    KillTimeout: nsFromMs(3_000),
    ShutdownDelay: nsFromMs(2_000),
    Config: { kill_after: '1h' },
  })
  const assignment = anAssignment({ tasks: [task], group: { ShutdownDelay: nsFromMs(4_000) } })
  const sim = await aSimulation({ assignments: [assignment] })
  const [process] = sim.driver.running
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, 3_900)
  assert.deepEqual(sim.server.eventsOf(ID, 'web').at(-1), 'Started')
  await pass(sim.clock, 1_000)
  assert.deepEqual(sim.server.eventsOf(ID, 'web').slice(-2), [
    'Killing',
    'Waiting for shutdown delay',
  ])
  assert.deepEqual(process?.signals, [])
  await pass(sim.clock, 1_500)
  assert.deepEqual(process?.signals, ['SIGTERM'])
  await pass(sim.clock, 3_000)
  const state = sim.server.updates.get(ID)?.TaskStates?.['web']
  assert.deepEqual(
    state?.Events.slice(-2).map((event) => event.Type),
    ['Terminated', 'Killed'],
  )
  const terminated = state?.Events.at(-2)
  assert.equal(terminated?.ExitCode, 137)
  assert.equal(terminated?.DisplayMessage, 'Exit Code: 137, Signal: 9')
  assert.equal(sim.server.statusOf(ID), 'complete')
  await sim.agent.stop()
})

test('no_shutdown_delay skips the delays of group and task', async () => {
  const task = aTask({ ShutdownDelay: nsFromMs(60_000) })
  const assignment = anAssignment({ tasks: [task], group: { ShutdownDelay: nsFromMs(60_000) } })
  const sim = await aSimulation({ assignments: [assignment] })
  const { allocation } = stopped(assignment)
  const DesiredTransition = { ...allocation.DesiredTransition, NoShutdownDelay: true }
  sim.server.assign({ ...assignment, allocation: { ...allocation, DesiredTransition } })
  await turn()
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.ok(sim.server.eventsOf(ID, 'web').includes('Skipping shutdown delay'))
  await sim.agent.stop()
})

const SECOND_WORD = [
  { name: 'of the group', group: { ShutdownDelay: nsFromMs(60_000) }, task: {} },
  { name: 'of a task', group: {}, task: { ShutdownDelay: nsFromMs(60_000) } },
]
for (const c of SECOND_WORD) {
  test(`no_shutdown_delay that comes later ends the delay ${c.name}`, async () => {
    const assignment = anAssignment({ tasks: [aTask(c.task)], group: c.group })
    const sim = await aSimulation({ assignments: [assignment] })
    const { allocation } = stopped(assignment)
    sim.server.assign({ ...assignment, allocation })
    await pass(sim.clock, 1_000)
    assert.equal(sim.driver.running.length, 1)
    const DesiredTransition = { ...allocation.DesiredTransition, NoShutdownDelay: true }
    const AllocModifyIndex = allocation.AllocModifyIndex + 1
    const changed = { ...allocation, AllocModifyIndex, DesiredTransition }
    sim.server.assign({ ...assignment, allocation: changed })
    await turn()
    assert.equal(sim.server.statusOf(ID), 'complete')
    await sim.agent.stop()
  })
}

test('a kill timeout longer than the node allows is cut', async () => {
  const task = aTask({ KillTimeout: nsFromMs(3_600_000), Config: { kill_after: '2h' } })
  const assignment = anAssignment({ tasks: [task] })
  const sim = await aSimulation({ assignments: [assignment] })
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, 30_000)
  const events = sim.server.updates.get(ID)?.TaskStates?.['web']?.Events ?? []
  const killing = events.find((event) => event.Type === 'Killing')
  assert.equal(killing?.KillTimeout, nsFromMs(30_000))
  assert.equal(killing?.Details['kill_timeout'], '30s')
  assert.equal(sim.server.statusOf(ID), 'complete')
  await sim.agent.stop()
})

test('a task that waits for its restart is ended at once by a stop', async () => {
  const task = aTask({ Config: { run_for: '1s', exit_code: 1 }, RestartPolicy: restartPolicy() })
  const assignment = anAssignment({ tasks: [task] })
  const sim = await aSimulation({ assignments: [assignment] })
  await pass(sim.clock, 2_000)
  sim.server.assign(stopped(assignment))
  await turn()
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.deepEqual(sim.server.eventsOf(ID, 'web').slice(-3), ['Restarting', 'Killing', 'Killed'])
  await sim.agent.stop()
})

const startFailures = [
  {
    name: 'an unrecoverable start error ends the task without a retry',
    config: { start_error: 'no such image' },
    events: ['Received', 'Task Setup', 'Driver Failure', 'Not Restarting'],
    status: 'failed',
    message: 'no such image',
  },
  {
    name: 'a recoverable start error is retried by policy',
    config: { start_error: 'busy', start_error_recoverable: true },
    events: ['Received', 'Task Setup', 'Driver Failure', 'Restarting'],
    status: 'pending',
    message: 'busy',
  },
  {
    name: 'a bad driver configuration fails validation, which names the field',
    config: { run_for: 'soon' },
    events: ['Received', 'Task Setup', 'Failed Validation', 'Not Restarting'],
    status: 'failed',
    message: 'run_for must be a duration',
  },
]
for (const c of startFailures) {
  test(`task start: ${c.name}`, async () => {
    const task = aTask({ Config: c.config, RestartPolicy: restartPolicy() })
    const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })] })
    assert.deepEqual(sim.server.eventsOf(ID, 'web'), c.events)
    assert.equal(sim.server.statusOf(ID), c.status)
    const failure = sim.server.updates.get(ID)?.TaskStates?.['web']?.Events[2]
    assert.equal(failure?.DriverError || failure?.ValidationError, c.message)
    assert.equal(failure?.DisplayMessage, c.message)
    await sim.agent.stop()
  })
}

const invalid = [
  { name: 'a task named like the shared directory', task: { Name: 'alloc' } },
  { name: 'a task name that climbs out', task: { Name: '../../etc' } },
  { name: 'an empty task name', task: { Name: '' } },
  { name: 'a variable with NUL', task: { Env: { A: 'x\0y' } } },
]
for (const c of invalid) {
  test(`task validation refuses ${c.name}`, async () => {
    const task = aTask({ ...c.task, RestartPolicy: restartPolicy() })
    const sim = await aSimulation({ assignments: [anAssignment({ tasks: [task] })] })
    assert.equal(sim.server.statusOf(ID), 'failed')
    const events = sim.server.eventsOf(ID, task.Name)
    assert.deepEqual(events, ['Received', 'Failed Validation', 'Not Restarting'])
    assert.equal(sim.driver.running.length, 0)
    await sim.agent.stop()
  })
}

test('a driver that the node does not have is a driver failure', async () => {
  const assignment = anAssignment({ tasks: [aTask({ Driver: 'qemu' })] })
  const sim = await aSimulation({ assignments: [assignment] })
  assert.equal(sim.server.statusOf(ID), 'failed')
  const events = sim.server.updates.get(ID)?.TaskStates?.['web']?.Events ?? []
  assert.ok(events.some((event) => event.DriverError === 'this node has no driver "qemu"'))
  await sim.agent.stop()
})

test('a batch allocation ends as complete when its maximum run duration is over', async () => {
  const assignment = anAssignment({
    job: { Type: 'batch' },
    group: { MaxRunDuration: nsFromMs(60_000) },
  })
  const sim = await aSimulation({ assignments: [assignment] })
  await pass(sim.clock, 59_000)
  assert.equal(sim.server.statusOf(ID), 'running')
  await pass(sim.clock, 2_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  assert.match(sim.server.updates.get(ID)?.ClientDescription ?? '', /maximum run duration of 1m0s/)
  await sim.agent.stop()
})

const DURATIONS = [
  { type: 'batch', ageMs: 0, ends: true },
  { type: 'sysbatch', ageMs: 0, ends: true },
  // Counted from its creation: one that waited for its node has less left.
  { type: 'batch', ageMs: 30_000, ends: true, atMs: 31_000 },
  { type: 'service', ageMs: 0, ends: false },
  { type: 'system', ageMs: 0, ends: false },
] as const
for (const { type, ageMs, ends, ...rest } of DURATIONS) {
  const what = ends ? 'ends, and poststop with it' : 'goes on'
  test(`max_run_duration: a ${type} allocation created ${ageMs} ms ago ${what}`, async () => {
    const tasks = [aTask(), aTask({ Name: 'after', ...lifecycle('poststop') })]
    const clock = new SimulatedClock()
    const assignment = anAssignment({
      job: { Type: type },
      group: { MaxRunDuration: nsFromMs(60_000) },
      allocation: { CreateTime: nsFromMs(clock.nowMs() - ageMs) },
      tasks,
    })
    const sim = await aSimulation({ assignments: [assignment] })
    await pass(sim.clock, 'atMs' in rest ? rest.atMs : 61_000)
    assert.equal(sim.server.statusOf(ID), ends ? 'complete' : 'running')
    const after = sim.server.updates.get(ID)?.TaskStates?.['after']
    const begun = (after?.Events ?? []).some(({ Type }) => Type === 'Started')
    assert.deepEqual([after?.State, begun], [ends ? 'dead' : 'pending', false])
    await sim.agent.stop()
  })
}

test('poststop runs after a stop that the servers asked for', async () => {
  const after = aTask({ Name: 'after', ...lifecycle('poststop'), Config: { run_for: '5s' } })
  const assignment = anAssignment({ tasks: [aTask(), after] })
  const sim = await aSimulation({ assignments: [assignment] })
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, 1_000)
  assert.deepEqual(runningTasks(sim), ['after'])
  await pass(sim.clock, 5_000)
  assert.equal(sim.server.statusOf(ID), 'complete')
  await sim.agent.stop()
})

test('an allocation waits for the one it replaces on the same node', async () => {
  const old = anAssignment({ tasks: [aTask({ Config: { kill_after: '2s' } })] })
  const sim = await aSimulation({ assignments: [old] })
  const next = anAssignment({
    allocation: { ID: allocationId(2), PreviousAllocation: ID },
    tasks: [aTask({ Name: 'next' })],
  })
  sim.server.assign(stopped(old), next)
  await pass(sim.clock, 1_000)
  assert.deepEqual(runningTasks(sim), ['web'])
  await pass(sim.clock, 1_500)
  assert.deepEqual(runningTasks(sim), ['next'])
  await sim.agent.stop()
})

test('an allocation that is stopped while it waits for another never starts', async () => {
  const old = anAssignment()
  const sim = await aSimulation({ assignments: [old] })
  const next = anAssignment({
    allocation: { ID: allocationId(2), PreviousAllocation: ID },
    tasks: [aTask({ Name: 'next' })],
  })
  sim.server.assign(next)
  await turn()
  sim.server.assign(stopped(next))
  await turn()
  assert.equal(sim.server.statusOf(allocationId(2)), 'complete')
  assert.deepEqual(sim.server.eventsOf(allocationId(2), 'next'), ['Received', 'Killing', 'Killed'])
  assert.deepEqual(runningTasks(sim), ['web'])
  await sim.agent.stop()
})

for (const name of ['constructor', '__proto__', 'toString']) {
  test(`a task may be named ${name}`, async () => {
    const tasks = [aTask({ Name: name })]
    const sim = await aSimulation({ assignments: [anAssignment({ tasks })] })
    assert.equal(sim.server.statusOf(ID), 'running')
    assert.deepEqual(runningTasks(sim), [name])
    await sim.agent.stop()
  })
}
