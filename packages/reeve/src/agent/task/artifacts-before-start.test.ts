import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  anAssignment,
  mockDriver,
  aTask,
  pass,
  restartPolicy,
  stopped,
  turn,
} from '../../../test/build/agent.ts'
import { aRunner } from '../../../test/build/runner.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { DriverContext, TaskLaunch } from '../driver.ts'

/** A driver that fetches for as long as the test likes. */
function fetchingDriver() {
  const fetched = Promise.withResolvers<void>()
  const driver = Object.assign(mockDriver(new SimulatedClock()), {
    fetched,
    fetches: 0,
    prepare: async (_launch: TaskLaunch, context: DriverContext): Promise<void> => {
      driver.fetches += 1
      context.report('Downloading image box:1')
      const interrupted = new Promise<void>((_, reject) => {
        context.signal.addEventListener('abort', () =>
          reject(new Fault('task-start', 'interrupted')),
        )
      })
      await Promise.race([fetched.promise, interrupted])
    },
  })
  return driver
}

async function aFetch(task = aTask(), count = 1) {
  const driver = fetchingDriver()
  const tasks = Array.from({ length: count }, (_, at) => ({ ...task, Name: `t${at}` }))
  const assignment = anAssignment({ tasks })
  const bench = await aRunner(assignment, { driverList: [driver] })
  await turn()
  return { ...bench, driver, assignment }
}

test('fetch: it is an event of the task, and the start follows it', async () => {
  const bench = await aFetch()
  const { driver, runner } = bench
  assert.equal(runner.task('t0').state.Events.at(-1)?.DisplayMessage, 'Downloading image box:1')
  assert.equal(runner.task('t0').state.State, 'pending')
  driver.fetched.resolve()
  await turn()
  assert.deepEqual(bench.events('t0').slice(-2), ['Driver', 'Started'])
})

test('fetch: a stop interrupts it, and that is no failure', async () => {
  const bench = await aFetch()
  const { runner, assignment, driver } = bench
  void runner.update(stopped(assignment))
  await turn()
  assert.equal(runner.task('t0').state.State, 'dead')
  assert.equal(runner.task('t0').state.Failed, false)
  assert.deepEqual(bench.events('t0').slice(-3), ['Driver', 'Killing', 'Killed'])
  assert.equal(driver.running.length, 0)
})

test('fetch: an agent that stops leaves the task as it was', async () => {
  const bench = await aFetch()
  await bench.runner.shutdown()
  assert.equal(bench.runner.task('t0').state.State, 'pending')
  assert.equal(bench.events('t0').at(-1), 'Driver')
})

test('fetch: more tasks than may start at once fetch beside each other', async () => {
  const { driver } = await aFetch(aTask(), 20)
  assert.equal(driver.fetches, 20)
})

test('fetch: a failed one is retried by the restart policy', async () => {
  const policy = restartPolicy({ Attempts: 1, Delay: nsFromMs(1_000) })
  const bench = await aFetch(aTask({ RestartPolicy: policy }))
  const { driver, clock } = bench
  driver.fetched.reject(new Fault('task-start', 'cannot fetch image box:1: EOF'))
  await turn()
  assert.deepEqual(bench.events('t0').slice(-2), ['Driver Failure', 'Restarting'])
  await pass(clock, 5_000)
  assert.equal(driver.fetches, 2)
  assert.deepEqual(bench.events('t0').slice(-2), ['Driver Failure', 'Not Restarting'])
})

test('restart: a second request during the kill adds no event', async () => {
  const stubborn = { kill_after: '3s' }
  const bench = await aRunner(
    anAssignment({ tasks: [aTask({ Config: stubborn, RestartPolicy: restartPolicy() })] }),
  )
  await turn()
  const { runner, clock } = bench
  const web = runner.task('web')
  const asked = ['first', 'second'].map((reason) =>
    web.restart({ reason, usesRestartPolicy: true }),
  )
  await turn()
  const third = web.restart({ reason: 'third', usesRestartPolicy: true })
  await pass(clock, 10_000)
  await Promise.all([...asked, third])
  assert.equal(bench.events('web').filter((type) => type === 'Restart Signaled').length, 1)
})
