import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allocationId, pass } from '../../../test/build/agent.ts'
import { aLaunch } from '../../../test/build/launch.ts'
import { SimulatedClock } from '../../../test/build/simulated-clock.ts'
import { taskDriverSuite, type Behaviour } from '../../../test/suites/task-driver.ts'
import type { TaskLaunch } from '../../agent/index.ts'
import { readMockConfig } from './mock-config.ts'
import { MockDriver } from './mock-driver.ts'

function configFor(behaviour: Behaviour): Readonly<Record<string, unknown>> {
  switch (behaviour.kind) {
    case 'exits':
      return { run_for: `${behaviour.afterMs ?? 10}ms`, exit_code: behaviour.code }
    case 'dies':
      return { run_for: '10ms', exit_signal: behaviour.signal }
    case 'runs':
      return {}
    case 'stubborn':
      return { kill_after: '1h' }
    case 'badly-configured':
      return { run_for: 'soon' }
  }
}

let launches = 0

function launchWith(config: Readonly<Record<string, unknown>>): TaskLaunch {
  launches += 1
  const id = `start-${launches}`
  const handle = {
    driver: 'mock',
    id,
    allocationId: allocationId(1),
    task: 'web',
    dir: `/nowhere/${id}`,
    bootId: 'boot',
  }
  return aLaunch({ handle, config })
}

taskDriverSuite('mock', () => {
  const clock = new SimulatedClock()
  const driver = new MockDriver({ clock })
  return {
    driver,
    reopen: () => driver,
    launch: (behaviour) => launchWith(configFor(behaviour)),
    ready: () => Promise.resolve(),
    async wait(promise) {
      const settled = new AbortController()
      void Promise.allSettled([promise]).then(() => settled.abort())
      for (let step = 0; !settled.signal.aborted && step < 1_000; step += 1) await pass(clock, 50)
      return promise
    },
  }
})

test('mock: remembers the signals it was sent and refuses them when told to', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const task = await driver.start(launchWith({}))
  await task.signal('SIGHUP')
  assert.deepEqual(driver.running[0]?.signals, ['SIGHUP'])
  const deaf = await driver.start(launchWith({ signal_error: 'not now' }))
  await assert.rejects(deaf.signal('SIGHUP'), { kind: 'task-signal', message: 'not now' })
})

test('mock: a task that was lost is said to be', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const { handle } = await driver.start(launchWith({}))
  driver.lose(handle.id)
  assert.equal((await driver.recover(handle)).kind, 'lost')
})

const broken = [
  { config: { run_for: 5 }, field: 'run_for' },
  { config: { kill_after: '-1s' }, field: 'kill_after' },
  { config: { exit_code: 1.5 }, field: 'exit_code' },
  { config: { start_error: {} }, field: 'start_error' },
]
for (const c of broken) {
  test(`mock: a bad ${c.field} is named`, () => {
    assert.throws(() => readMockConfig(c.config), {
      kind: 'task-config',
      message: new RegExp(`^${c.field} must be`),
    })
  })
}
