import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { allocationId, pass } from '../../../test/build/agent.ts'
import { aLaunch } from '../../../test/build/launch.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'
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

test('mock: records signals and rejects them if configured', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const task = await driver.start(launchWith({}))
  await task.signal('SIGHUP')
  assert.deepEqual(driver.running[0]?.signals, ['SIGHUP'])
  const deaf = await driver.start(launchWith({ signal_error: 'not now' }))
  await assert.rejects(deaf.signal('SIGHUP'), { kind: 'task-signal', message: 'not now' })
})

test('mock: recovers a lost task as lost', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const { handle } = await driver.start(launchWith({}))
  driver.markLost(handle.id)
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

test('mock: writes the configured output as often as configured', async (t) => {
  const dir = await temporaryDirectory(t)
  const clock = new SimulatedClock()
  const driver = new MockDriver({ clock })
  const logs = {
    stdoutPrefix: join(dir, 'out'),
    stderrPrefix: join(dir, 'err'),
    maxFiles: 2,
    maxFileBytes: 1_000,
  }
  const config = {
    run_for: '1m',
    stdout_string: 'tick',
    stdout_repeat: 2,
    stdout_repeat_duration: '5s',
    stderr_string: 'once',
  }
  await driver.start({ ...launchWith(config), logs })
  await until('three ticks', async () => {
    await pass(clock, 1_000)
    return (await readFile(join(dir, 'out.0'), 'utf8').catch(() => '')) === 'tickticktick'
      ? true
      : undefined
  })
  assert.equal(await readFile(join(dir, 'err.0'), 'utf8'), 'once')
})

test('mock: a command echoes its input and records terminal sizes', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const task = await driver.start(launchWith({}))
  const session = await task.exec({ command: ['cat'], tty: { rows: 24, columns: 80 } })
  session.resize({ rows: 50, columns: 120 })
  session.stdin.end('hello')
  assert.equal(await textOf(session.stdout), 'hello')
  assert.equal(await textOf(session.stderr), '')
  assert.equal(await session.exited, 0)
  const [seen] = driver.running[0]?.execSessions ?? []
  assert.deepEqual(seen?.sizes, [
    { rows: 24, columns: 80 },
    { rows: 50, columns: 120 },
  ])
})

test('mock: a command behaves like exec_command', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const exec_command = [{ exit_code: 7, stdout_string: 'out', stderr_string: 'err' }]
  const task = await driver.start(launchWith({ exec_command }))
  const session = await task.exec({ command: ['x'], tty: undefined })
  assert.equal(await textOf(session.stdout), 'out')
  assert.equal(await textOf(session.stderr), 'err')
  assert.equal(await session.exited, 7)
})

test('mock: commands inside end with a hang-up, and with their task', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const task = await driver.start(launchWith({}))
  const first = await task.exec({ command: ['cat'], tty: undefined })
  first.hangUp()
  assert.equal(await first.exited, 129)
  const second = await task.exec({ command: ['cat'], tty: undefined })
  driver.running[0]?.exit(0)
  assert.equal(await second.exited, 137)
  await assert.rejects(task.exec({ command: [''], tty: undefined }), { kind: 'task-gone' })
})

test('mock: an empty command is refused', async () => {
  const driver = new MockDriver({ clock: new SimulatedClock() })
  const task = await driver.start(launchWith({}))
  await assert.rejects(task.exec({ command: [], tty: undefined }), { kind: 'task-config' })
})

test('mock: has the configured address and exit message', async () => {
  const clock = new SimulatedClock()
  const driver = new MockDriver({ clock })
  const config = {
    driver_ip: '10.1.2.3',
    driver_port_map: { http: 80 },
    run_for: '1s',
    exit_code: 1,
    exit_err_msg: 'out of ideas',
  }
  const task = await driver.start(launchWith(config))
  assert.deepEqual(task.address, { ip: '10.1.2.3', ports: { http: 80 } })
  await pass(clock, 2_000)
  assert.equal((await task.exited).message, 'out of ideas')
})

test('mock: a lost task is reported now and later', async () => {
  const clock = new SimulatedClock()
  const driver = new MockDriver({ clock })
  const task = await driver.start(launchWith({ plugin_exit_after: '1s' }))
  await pass(clock, 2_000)
  assert.match((await task.exited).message, /lost/)
  assert.equal((await driver.recover(task.handle)).kind, 'lost')
})

test('mock: uses half of its resources while it runs', async () => {
  const clock = new SimulatedClock()
  const driver = new MockDriver({ clock })
  const task = await driver.start(launchWith({ run_for: '1m' }))
  await pass(clock, 10_000)
  const usage = await task.usage()
  assert.equal(usage?.memory.rssBytes, 32 * 1024 * 1024)
  assert.equal(usage?.cpu.totalNs, 500_000_000)
  await pass(clock, 60_000)
  assert.equal(await task.usage(), undefined)
})

async function textOf(stream: Readable): Promise<string> {
  let text = ''
  for await (const piece of stream) text += String(piece)
  return text
}
