import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { RunningTask, TaskDriver, TaskLaunch } from '../../src/agent/index.ts'

/** What a task of the suite does. Each driver has its own way to make it. */
export type Behaviour =
  | { readonly kind: 'exits'; readonly code: number; readonly afterMs?: number }
  | { readonly kind: 'dies'; readonly signal: number }
  | { readonly kind: 'runs' }
  /** Does not end when it is asked to. */
  | { readonly kind: 'stubborn' }
  | { readonly kind: 'badly-configured' }

interface DriverBench {
  readonly driver: TaskDriver
  /** The driver as the next agent makes it, after this one was killed. */
  reopen(): TaskDriver
  /** A launch that was never used before. */
  launch(behaviour: Behaviour): TaskLaunch | Promise<TaskLaunch>
  /** Awaits, letting the driver's time pass meanwhile. */
  wait<T>(promise: Promise<T>): Promise<T>
  /** Resolves when the task is far enough to be interrupted. */
  ready(task: RunningTask): Promise<void>
}

/** Holds a TaskDriver to the comments of its interface. */
export function taskDriverSuite(
  name: string,
  open: (t: TestContext) => DriverBench | Promise<DriverBench>,
): void {
  const stopping = { signal: 'SIGTERM', timeoutMs: 10_000 }

  test(`${name}: says that it is here, in the node's attributes`, async (t) => {
    const bench = await open(t)
    const { driver } = bench
    let health = await bench.wait(driver.fingerprint())
    // An engine on a busy machine may respond later than one probe waits.
    for (let probes = 1; !health.healthy && probes < 10; probes++)
      health = await bench.wait(driver.fingerprint())
    assert.equal(health.detected, true)
    assert.equal(health.healthy, true)
    assert.equal(health.attributes[`driver.${driver.name}`], '1')
  })

  for (const code of [0, 3, 255]) {
    test(`${name}: a task that exits with ${code} is said to`, async (t) => {
      const bench = await open(t)
      const launch = await bench.launch({ kind: 'exits', code })
      const task = await bench.wait(bench.driver.start(launch))
      assert.deepEqual(task.handle, launch.handle)
      const exit = await bench.wait(task.exited)
      assert.deepEqual({ ...exit, atMs: 0 }, anExit(code, 0))
      await task.destroyRecords()
      await task.destroyRecords()
    })
  }

  test(`${name}: death by a signal is told with its number and as 128 more`, async (t) => {
    const bench = await open(t)
    const task = await bench.wait(
      bench.driver.start(await bench.launch({ kind: 'dies', signal: 9 })),
    )
    const exit = await bench.wait(task.exited)
    // Some engines cannot tell this from a kill by the kernel, and say what it may have been.
    assert.deepEqual({ ...exit, atMs: 0, message: '' }, anExit(137, 9))
  })

  test(`${name}: a stop ends the task, and may be repeated`, async (t) => {
    const bench = await open(t)
    const task = await bench.wait(bench.driver.start(await bench.launch({ kind: 'runs' })))
    await bench.ready(task)
    await bench.wait(Promise.all([task.stop(stopping), task.stop(stopping)]))
    await bench.wait(task.exited)
    await bench.wait(task.stop(stopping))
  })

  test(`${name}: a task that does not obey is ended by force after the timeout`, async (t) => {
    const bench = await open(t)
    const task = await bench.wait(bench.driver.start(await bench.launch({ kind: 'stubborn' })))
    await bench.ready(task)
    await bench.wait(task.stop({ signal: 'SIGTERM', timeoutMs: 100 }))
    assert.deepEqual({ ...(await bench.wait(task.exited)), atMs: 0 }, anExit(137, 9))
  })

  test(`${name}: a bad configuration is refused as one`, async (t) => {
    const bench = await open(t)
    const launch = await bench.launch({ kind: 'badly-configured' })
    await assert.rejects(bench.wait(bench.driver.start(launch)), { kind: 'task-config' })
  })

  test(`${name}: an unknown signal and a task that has ended are told apart`, async (t) => {
    const bench = await open(t)
    const launch = await bench.launch({ kind: 'exits', code: 0 })
    const task = await bench.wait(bench.driver.start(launch))
    await assert.rejects(bench.wait(task.signal('SIGNONSENSE')), { kind: 'task-signal' })
    await bench.wait(task.exited)
    await assert.rejects(bench.wait(task.signal('SIGHUP')), { kind: 'task-gone' })
  })

  test(`${name}: a task that runs on without an agent is found by the next one`, async (t) => {
    const bench = await open(t)
    const task = await bench.wait(bench.driver.start(await bench.launch({ kind: 'runs' })))
    await bench.ready(task)
    task.detach()
    const recovery = await bench.wait(bench.reopen().recover(task.handle))
    assert.equal(recovery.kind, 'attached')
    if (recovery.kind !== 'attached') return
    await bench.wait(recovery.task.stop(stopping))
    await bench.wait(recovery.task.exited)
  })

  test(`${name}: a task that ended without an agent keeps its exit for the next one`, async (t) => {
    const bench = await open(t)
    const launch = await bench.launch({ kind: 'exits', code: 3, afterMs: 50 })
    const task = await bench.wait(bench.driver.start(launch))
    // Two look at it, one goes away: the other's view proves that it ended meanwhile.
    const watcher = await bench.wait(bench.driver.recover(task.handle))
    task.detach()
    assert.equal(watcher.kind, 'attached')
    if (watcher.kind === 'attached') await bench.wait(watcher.task.exited)
    const recovery = await bench.wait(bench.reopen().recover(task.handle))
    assert.equal(recovery.kind, 'attached')
    if (recovery.kind !== 'attached') return
    assert.deepEqual({ ...(await bench.wait(recovery.task.exited)), atMs: 0 }, anExit(3, 0))
    await recovery.task.destroyRecords()
  })

  test(`${name}: in a task that has ended no command runs, and nothing is used`, async (t) => {
    const bench = await open(t)
    const launch = await bench.launch({ kind: 'exits', code: 0 })
    const task = await bench.wait(bench.driver.start(launch))
    await bench.wait(task.exited)
    const asked = task.exec({ command: ['true'], tty: undefined })
    await assert.rejects(bench.wait(asked), { kind: 'task-gone' })
    assert.equal(await bench.wait(task.usage()), undefined)
    await task.destroyRecords()
  })

  test(`${name}: a start that was only planned is known never to have happened`, async (t) => {
    const bench = await open(t)
    const { handle } = await bench.launch({ kind: 'runs' })
    for (let n = 0; n < 2; n += 1) {
      assert.deepEqual(await bench.wait(bench.driver.recover(handle)), { kind: 'never-started' })
    }
  })
}

function anExit(exitCode: number, signal: number): object {
  return { exitCode, signal, oomKilled: false, message: '', atMs: 0 }
}
