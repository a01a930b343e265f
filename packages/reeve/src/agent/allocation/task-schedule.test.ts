import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  allocationId,
  anAssignment,
  aSimulation,
  aTask,
  pass,
  stopped,
  type Simulation,
} from '../../../test/build/agent.ts'
import { aRunner } from '../../../test/build/runner.ts'
import { INITIAL_TRACKER } from '../task/restart-policy.ts'

const ID = allocationId(1)
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The simulated clock begins at midnight. */
const scheduled = (Start: string, End: string) =>
  aTask({ Schedule: { Cron: { Start, End, Timezone: 'UTC' } } })

function stateOf({ server }: Simulation) {
  return server.updates.get(ID)?.TaskStates?.['web']
}

/** In steps, so that timers set by what happened meanwhile are seen. */
async function passMinutes({ clock }: Simulation, minutes: number): Promise<void> {
  for (let step = 0; step < minutes; step += 5) await pass(clock, 5 * MINUTE_MS)
}

test('a task outside its schedule waits, runs in its window and is stopped at its end', async () => {
  const sim = await aSimulation({
    assignments: [anAssignment({ tasks: [scheduled('10,40 0 1 1 *', '20 0')] })],
  })
  assert.equal(stateOf(sim)?.State, 'pending')
  assert.equal(stateOf(sim)?.Paused, 'scheduled_pause')
  assert.deepEqual(sim.server.eventsOf(ID, 'web'), ['Received', 'Pausing'])
  assert.match(stateOf(sim)?.Events.at(-1)?.DisplayMessage ?? '', /until 2026-01-01T00:10:00/)
  await passMinutes(sim, 10)
  assert.equal(stateOf(sim)?.State, 'running')
  assert.equal(stateOf(sim)?.Paused, '')
  await passMinutes(sim, 10)
  assert.equal(stateOf(sim)?.State, 'pending')
  assert.equal(stateOf(sim)?.Restarts, 0, 'it is no restart')
  assert.equal(sim.driver.running.length, 0)
  await passMinutes(sim, 20)
  assert.equal(stateOf(sim)?.State, 'running')
  await sim.agent.stop()
})

test('a task that waits for its schedule can be stopped', async () => {
  const assignment = anAssignment({ tasks: [scheduled('0 3 * * *', '0 4')] })
  const sim = await aSimulation({ assignments: [assignment] })
  sim.server.assign(stopped(assignment))
  await pass(sim.clock, MINUTE_MS)
  assert.equal(sim.server.statusOf(ID), 'complete')
  await sim.agent.stop()
})

test('an agent that takes over a paused task waits on, or starts it when its window is open', async () => {
  const assignment = anAssignment({ tasks: [scheduled('10 0 * * *', '0 12')] })
  const first = await aRunner(assignment)
  const { runner } = first
  const { state } = runner.task('web')
  assert.equal(state.Paused, 'scheduled_pause')
  await runner.shutdown()
  const record = { state, attempt: 0, handle: null, restarts: INITIAL_TRACKER, hooksDone: [] }
  const next = await aRunner(assignment, { records: { web: record } })
  assert.deepEqual(next.events('web'), first.events('web'), 'nothing is said twice')
  await pass(next.clock, 10 * MINUTE_MS)
  assert.equal(next.runner.task('web').state.State, 'running')
  assert.equal(next.runner.task('web').state.Paused, '')
  await next.runner.shutdown()
})

test('a schedule that changes is followed at once', async () => {
  const assignment = anAssignment({ tasks: [scheduled('0 0 * * *', '0 12')] })
  const sim = await aSimulation({ assignments: [assignment] })
  assert.equal(stateOf(sim)?.State, 'running')
  const later = anAssignment({ tasks: [scheduled('0 3 * * *', '0 4')] })
  sim.server.assign(later)
  await pass(sim.clock, MINUTE_MS)
  assert.equal(stateOf(sim)?.Paused, 'scheduled_pause')
  sim.server.assign(anAssignment({ tasks: [aTask()] }))
  await pass(sim.clock, MINUTE_MS)
  assert.equal(stateOf(sim)?.State, 'running')
  await sim.agent.stop()
})

test('a task outside its schedule does not keep a deployment waiting', async () => {
  const health = { HealthCheck: 'task_states', MinHealthyTime: 0, HealthyDeadline: HOUR_MS * 1e6 }
  const sim = await aSimulation({
    assignments: [
      anAssignment({
        allocation: { DeploymentID: 'd' },
        group: { Update: health },
        tasks: [scheduled('0 3 * * *', '0 4')],
      }),
    ],
  })
  await pass(sim.clock, MINUTE_MS)
  assert.equal(sim.server.updates.get(ID)?.DeploymentStatus?.Healthy, true)
  await sim.agent.stop()
})

const NIGHT = '0 3 * * *'

test('a user overrides a schedule: run outside the window, pause inside it, follow it again', async () => {
  const assignment = anAssignment({ tasks: [scheduled(NIGHT, '0 4')] })
  const bench = await aRunner(assignment)
  const { runner, clock, driver } = bench
  const web = runner.task('web')
  await web.overrideSchedule('run')
  await pass(clock, MINUTE_MS)
  assert.equal(web.state.State, 'running')
  assert.equal(web.state.Paused, 'force_run')
  // Also past the end of a window that nobody waited for.
  for (let hour = 0; hour < 5; hour++) await pass(clock, HOUR_MS)
  assert.equal(web.state.State, 'running')
  await web.overrideSchedule('pause')
  await pass(clock, MINUTE_MS)
  assert.equal(web.state.State, 'pending')
  assert.equal(web.state.Paused, 'force_pause')
  assert.equal(web.state.Restarts, 0)
  assert.equal(driver.running.length, 0)
  for (let hour = 0; hour < 23; hour++) await pass(clock, HOUR_MS)
  assert.equal(web.state.Paused, 'force_pause', 'the next window opened in vain')
  await web.overrideSchedule('scheduled')
  await pass(clock, MINUTE_MS)
  assert.equal(web.state.Paused, 'scheduled_pause')
  for (let hour = 0; hour < 24 && web.state.State !== 'running'; hour++) await pass(clock, HOUR_MS)
  assert.equal(web.state.State, 'running')
  assert.equal(web.state.Paused, '')
  assert.deepEqual(
    bench.events('web').filter((type) => type === 'Pausing' || type === 'Running'),
    ['Pausing', 'Running', 'Pausing', 'Pausing', 'Running'],
  )
  await runner.shutdown()
})

test('an override outlives the agent, and the same one again adds no event', async () => {
  const assignment = anAssignment({ tasks: [scheduled('0 0 * * *', '0 12')] })
  const first = await aRunner(assignment)
  const { runner } = first
  await runner.task('web').overrideSchedule('pause')
  await runner.task('web').overrideSchedule('pause')
  await pass(first.clock, MINUTE_MS)
  await runner.shutdown()
  const { state } = runner.task('web')
  assert.equal(state.Paused, 'force_pause')
  assert.equal(first.events('web').filter((type) => type === 'Pausing').length, 1)
  const record = { state, attempt: 1, handle: null, restarts: INITIAL_TRACKER, hooksDone: [] }
  const next = await aRunner(assignment, { records: { web: record } })
  await pass(next.clock, HOUR_MS)
  assert.equal(next.runner.task('web').state.State, 'pending')
  assert.deepEqual(next.events('web'), first.events('web'), 'nothing is said twice')
  await next.runner.task('web').overrideSchedule('scheduled')
  await pass(next.clock, MINUTE_MS)
  assert.equal(next.runner.task('web').state.State, 'running')
  await next.runner.shutdown()
})

test('an override ends with the task and with its schedule', async () => {
  const assignment = anAssignment({ tasks: [scheduled(NIGHT, '0 4')] })
  const sim = await aRunner(assignment)
  await sim.runner.task('web').overrideSchedule('run')
  await pass(sim.clock, MINUTE_MS)
  await sim.runner.update(anAssignment({ tasks: [aTask()] }))
  await pass(sim.clock, MINUTE_MS)
  assert.equal(sim.runner.task('web').state.Paused, '')
  await assert.rejects(sim.runner.task('web').overrideSchedule('pause'), {
    kind: 'task-unscheduled',
  })
  await sim.runner.update(assignment)
  await pass(sim.clock, MINUTE_MS)
  await sim.runner.task('web').overrideSchedule('pause')
  void sim.runner.stop()
  await pass(sim.clock, MINUTE_MS)
  assert.equal(sim.runner.task('web').state.State, 'dead')
  assert.equal(sim.runner.task('web').state.Paused, '')
  await assert.rejects(sim.runner.task('web').overrideSchedule('run'), { kind: 'task-not-running' })
})
