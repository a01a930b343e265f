import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import { HOST_NETWORK, type RunningTask } from '../../agent/index.ts'
import { isAlive, readProcess, type ProcessId } from '../proc/processes.ts'
import { ShimRecords } from './shim.ts'
import { ShellFallbackDriver } from './shell-driver.ts'

const onlyRoot = { skip: getuid?.() === 0 ? false : 'only root runs tasks as somebody else' }

function aBench(t: TestContext): Promise<ProgramBench> {
  return ProgramBench.open(t, () => ({
    driver: new ShellFallbackDriver({ clock: systemClock }),
    config: (text) => ({ command: 'sh', args: ['-c', text] }),
    close: () => Promise.resolve(),
  }))
}

test('raw_exec: a network of its own, which a shell cannot enter, is refused', async (t) => {
  const bench = await aBench(t)
  const network = { ...HOST_NETWORK, mode: 'none', namespacePath: '/run/netns/x' }
  await assert.rejects(bench.driver.start(bench.script('true', { network })), {
    kind: 'task-unstartable',
    message: /needs the native helper/,
  })
})

interface Scene {
  readonly bench: ProgramBench
  readonly task: RunningTask
  readonly isStrangerAlive: () => boolean
  /** Puts the line of a process that is not the task's into a record that the task can write. */
  readonly lie: (record: 'shim' | 'task') => Promise<void>
}

/** A task of another user than the agent's, and a process of the agent's own. */
async function aScene(t: TestContext): Promise<Scene> {
  const bench = await aBench(t)
  const child = spawn('sleep', ['1000'], { stdio: 'ignore', detached: true })
  t.after(() => child.kill('SIGKILL'))
  const stranger: ProcessId = readProcess(child.pid ?? 0) ?? { pid: 0, startTime: 0 }
  const task = await bench.driver.start(bench.script('sleep 1000; true', { user: '65534:65534' }))
  return {
    bench,
    task,
    isStrangerAlive: () => isAlive(stranger),
    lie: async (record) => {
      const line = await readFile(`/proc/${stranger.pid}/stat`)
      await writeFile(join(task.handle.dir, record), line)
    },
  }
}

test('raw_exec: a signal does not reach whom a task names falsely', onlyRoot, async (t) => {
  const { task, lie, isStrangerAlive } = await aScene(t)
  await lie('task')
  await assert.rejects(task.signal('SIGKILL'), { kind: 'task-gone' })
  assert.ok(isStrangerAlive())
})

test('raw_exec: a stop does not reach whom a task names falsely', onlyRoot, async (t) => {
  const { task, lie, isStrangerAlive } = await aScene(t)
  await lie('task')
  await task.stop({ signal: 'SIGKILL', timeoutMs: 5_000 })
  assert.ok(isStrangerAlive())
})

test(
  'raw_exec: an agent that comes back ends nobody whom a task names falsely',
  onlyRoot,
  async (t) => {
    const { bench, task, lie, isStrangerAlive } = await aScene(t)
    const main = await new ShimRecords(task.handle.dir).taskProcess()
    assert.ok(main !== undefined && isAlive(main))
    task.detach()
    await lie('shim')
    const recovery = await bench.driver.recover(task.handle)
    assert.equal(recovery.kind, 'lost')
    assert.equal(isAlive(main), false)
    assert.ok(isStrangerAlive())
  },
)
