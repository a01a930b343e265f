import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, open, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid, kill } from 'node:process'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { aLaunch } from '../../../test/build/launch.ts'
import { until } from '../../../test/build/until.ts'
import { shellTaskDriverSuite } from '../../../test/suites/shell-task-driver.ts'
import { taskDriverSuite, type Behaviour } from '../../../test/suites/task-driver.ts'
import type { RunningTask, TaskDriver, TaskLaunch } from '../../agent/index.ts'
import { readProcess } from '../proc/processes.ts'
import { ShellFallbackDriver } from './shell-driver.ts'
import { buildShimCall, SHELL, ShimRecords } from './shim.ts'

const isRoot = getuid?.() === 0
const onlyRoot = { skip: isRoot ? false : 'only root may change users' }
const stopping = { signal: 'SIGTERM', timeoutMs: 10_000 }

/** A driver, a task directory, and everything it started ended after the test. */
class Bench {
  readonly driver = new ShellFallbackDriver({ clock: systemClock })
  readonly dir: string
  readonly #bootId: string
  readonly #started: RunningTask[] = []
  #launches = 0

  static async open(t: TestContext): Promise<Bench> {
    const dir = await mkdtemp(join(tmpdir(), 'reeve-test-'))
    await chmod(dir, 0o711)
    const bench = new Bench(dir, (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim())
    // One step: what runs there must end before the files by which it is found.
    t.after(async () => {
      await bench.#end()
      await rm(dir, { recursive: true, force: true })
    })
    return bench
  }

  constructor(dir: string, bootId: string) {
    this.dir = dir
    this.#bootId = bootId
  }

  async #end(): Promise<void> {
    for (const { handle } of this.#started) {
      const recovery = await this.driver.recover(handle)
      if (recovery.kind === 'attached') await recovery.task.stop({ signal: '', timeoutMs: 0 })
    }
  }

  launch(
    command: string,
    args: readonly string[] = [],
    fields: Partial<TaskLaunch> = {},
  ): TaskLaunch {
    this.#launches += 1
    const id = `${process.pid}-${this.#launches}`
    // Each start has its own allocation, so that tests running at the same time never meet.
    const allocationId = `${this.dir}-${this.#launches}`
    return aLaunch({
      handle: {
        driver: 'raw_exec',
        id,
        allocationId,
        task: 'web',
        dir: join(this.dir, `records-${this.#launches}`),
        bootId: this.#bootId,
      },
      config: { command, args },
      taskDir: this.dir,
      logs: {
        stdoutPrefix: join(this.dir, 'out'),
        stderrPrefix: join(this.dir, 'err'),
        maxFiles: 2,
        maxFileBytes: 1024 * 1024,
      },
      ...fields,
      env: {
        PATH: '/usr/bin:/bin',
        REEVE_ALLOC_ID: allocationId,
        REEVE_TASK_NAME: 'web',
        ...fields.env,
      },
    })
  }

  async start(launch: TaskLaunch): Promise<RunningTask> {
    const task = await this.driver.start(launch)
    this.#started.push(task)
    return task
  }

  /** The driver, with a note of everything it started. */
  get trackedDriver(): TaskDriver {
    const { driver } = this
    return {
      name: driver.name,
      isolation: driver.isolation,
      fingerprint: () => driver.fingerprint(),
      start: (launch) => this.start(launch),
      recover: (handle) => driver.recover(handle),
    }
  }

  async sh(script: string, fields: Partial<TaskLaunch> = {}): Promise<RunningTask> {
    return this.start(this.launch('sh', ['-c', script], fields))
  }

  /** The number that the task wrote to a file: the pid of one of its processes. */
  async pidIn(name: string): Promise<number> {
    return until(`a process number in ${name}`, async () => {
      const text = await readFile(join(this.dir, name), 'utf8').catch(() => '')
      return text.endsWith('\n') ? Number(text) : undefined
    })
  }

  async output(): Promise<string> {
    return readFile(join(this.dir, 'out.0'), 'utf8')
  }
}

function isGone(pid: number): boolean {
  const found = readProcess(pid)
  return found === undefined || found.isZombie
}

function scriptFor(behaviour: Behaviour): string {
  switch (behaviour.kind) {
    case 'exits':
      return `sleep ${(behaviour.afterMs ?? 0) / 1000}; exit ${behaviour.code}`
    case 'dies':
      return `kill -${behaviour.signal} $$`
    case 'runs':
    case 'badly-configured':
      return 'echo ready; exec sleep 1000'
    case 'stubborn':
      return "trap '' TERM; echo ready; sleep 1000; sleep 1000"
  }
}

taskDriverSuite('raw_exec', async (t) => {
  const bench = await Bench.open(t)
  return {
    driver: bench.trackedDriver,
    reopen: () => new ShellFallbackDriver({ clock: systemClock }),
    launch(behaviour) {
      const launch = bench.launch('sh', ['-c', scriptFor(behaviour)])
      return behaviour.kind === 'badly-configured' ? { ...launch, config: { command: 7 } } : launch
    },
    wait: (promise) => promise,
    async ready() {
      await until('the task to be ready', async () => {
        return (await bench.output()).includes('ready') ? true : undefined
      })
    },
  }
})

shellTaskDriverSuite(
  'raw_exec by the shell',
  async (t) => {
    const bench = await Bench.open(t)
    return {
      driver: bench.trackedDriver,
      script: (text, fields) => bench.launch('sh', ['-c', text], fields),
      killSupervisor: async ({ handle }) => {
        const shim = await new ShimRecords(handle.dir).shimProcess()
        kill(shim?.pid ?? 0, 'SIGKILL')
      },
    }
  },
  {
    ...(isRoot ? {} : { users: 'only root may change users' }),
    exactSignals: 'a shell tells death by a signal only as 128 more',
    rotation: 'the task writes to its log file directly',
    terminal: 'only the native helper makes terminals',
    limits: 'only the native helper sets limits',
  },
)

test('raw_exec: output goes to the log files, and a second start appends', async (t) => {
  const bench = await Bench.open(t)
  for (let n = 0; n < 2; n += 1) {
    const task = await bench.sh('echo hello; echo trouble >&2; echo again >>/dev/stdout')
    await task.exited
  }
  assert.equal(await bench.output(), 'hello\nagain\nhello\nagain\n')
  assert.equal(await readFile(join(bench.dir, 'err.0'), 'utf8'), 'trouble\ntrouble\n')
})

test('raw_exec: a killed task leaves no word of the shell in its log', async (t) => {
  const bench = await Bench.open(t)
  await (
    await bench.sh('kill -TERM $$')
  ).exited
  assert.equal(await readFile(join(bench.dir, 'err.0'), 'utf8'), '')
})

test('raw_exec: discarded output is discarded', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh('echo hello', { logs: undefined })
  assert.equal((await task.exited).exitCode, 0)
  await assert.rejects(bench.output(), { code: 'ENOENT' })
})

test('raw_exec: the environment is exactly what was given, odd names included', async (t) => {
  process.env['REEVE_TEST_SECRET'] = 'of the agent'
  t.after(() => delete process.env['REEVE_TEST_SECRET'])
  const bench = await Bench.open(t)
  const launch = bench.launch('/usr/bin/env', ['-0'], {
    env: {
      'with.dot': 'a',
      'with-hyphen': "it's",
      PWD: '/made/up',
      IFS: ':',
      _reeve_dir: 'mine',
      EMPTY: '',
      LINES: 'one\ntwo "$HOME" `x`',
    },
  })
  await (
    await bench.start(launch)
  ).exited
  const pairs = (await bench.output()).split('\0').filter((pair) => pair !== '')
  const found = pairs.map((pair) => {
    const at = pair.indexOf('=')
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  assert.deepEqual(Object.fromEntries(found), launch.env)
})

test('raw_exec: arguments arrive as they are', async (t) => {
  const bench = await Bench.open(t)
  const args = ['', 'a b', '$HOME', "'", '"', '\\', '-n', 'ü', '*', '\n']
  const launch = bench.launch('/usr/bin/printf', ['[%s]', ...args])
  await (
    await bench.start(launch)
  ).exited
  assert.equal(await bench.output(), args.map((arg) => `[${arg}]`).join(''))
})

test('raw_exec: a task has its three standard files and none that the agent opened', async (t) => {
  const bench = await Bench.open(t)
  const opened = await open(join(bench.dir, 'agent-file'), 'w')
  t.after(() => opened.close())
  await (
    await bench.start(bench.launch('ls', ['-l', '/proc/self/fd']))
  ).exited
  const targets = (await bench.output()).split('\n').flatMap((line) => {
    const match = /(\d+) -> (.*)$/.exec(line)
    return match === null ? [] : [`${match[1]} ${match[2]}`]
  })
  assert.deepEqual(targets.slice(0, 3), [
    '0 /dev/null',
    `1 ${join(bench.dir, 'out.0')}`,
    `2 ${join(bench.dir, 'err.0')}`,
  ])
  // ls reads the directory; anything else was inherited by this very process from whoever started
  // it.
  assert.equal(targets.filter((target) => target.includes(bench.dir)).length, 2)
})

test('raw_exec: the task works in its directory, or in the one it asks for', async (t) => {
  const bench = await Bench.open(t)
  const launch = bench.launch('pwd')
  await (
    await bench.start(launch)
  ).exited
  await mkdir(join(bench.dir, 'inner'))
  const inner = { ...bench.launch('pwd'), config: { command: 'pwd', work_dir: 'inner' } }
  await (
    await bench.start(inner)
  ).exited
  assert.equal(await bench.output(), `${bench.dir}\n${join(bench.dir, 'inner')}\n`)
})

test('raw_exec: a stop ends deaf children and those that left their session', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh(`
    sh -c 'trap "" TERM INT; echo $$ >deaf; sleep 1000; sleep 1000' &
    setsid sh -c 'trap "" TERM INT; echo $$ >escaped; sleep 1000; sleep 1000' &
    (setsid sh -c 'sh -c "trap \\"\\" TERM; echo \\$\\$ >twice; sleep 1000; sleep 1000" &' &)
    echo $$ >main
    wait`)
  const pids = await Promise.all(
    ['deaf', 'escaped', 'twice', 'main'].map((name) => bench.pidIn(name)),
  )
  assert.deepEqual(pids.map(isGone), [false, false, false, false])
  await task.stop({ signal: 'SIGTERM', timeoutMs: 100 })
  assert.deepEqual(pids.map(isGone), [true, true, true, true])
  await task.exited
})

test('raw_exec: a polite signal reaches the whole group', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh('echo $$ >main; sleep 1000; echo not reached')
  await bench.pidIn('main')
  const begun = performance.now()
  await task.stop({ signal: 'SIGTERM', timeoutMs: 20_000 })
  assert.ok(performance.now() - begun < 10_000)
  assert.equal((await task.exited).signal, 15)
  assert.equal(await bench.output(), '')
})

test('raw_exec: a task in its own session gets the stop signal too', async (t) => {
  const bench = await Bench.open(t)
  const script = 'trap "exit 43" TERM; echo $$ >main; while :; do sleep 0.01; done'
  const task = await bench.start(bench.launch('setsid', ['sh', '-c', script]))
  await bench.pidIn('main')
  await task.stop({ signal: 'SIGTERM', timeoutMs: 20_000 })
  assert.equal((await task.exited).exitCode, 43)
})

for (const signal of ['', 'SIGNONSENSE'])
  test(`raw_exec: a stop with the signal "${signal}" sends SIGINT`, async (t) => {
    const bench = await Bench.open(t)
    const task = await bench.sh('trap "exit 42" INT; echo $$ >main; while :; do sleep 0.01; done')
    await bench.pidIn('main')
    await task.stop({ signal, timeoutMs: 20_000 })
    assert.equal((await task.exited).exitCode, 42)
  })

test('raw_exec: a signal is sent to the task only', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh(`
    sh -c 'trap "echo child heard" HUP; echo $$ >child; while :; do sleep 0.01; done' &
    trap 'echo heard >heard' HUP
    echo $$ >main
    while :; do sleep 0.01; done`)
  await bench.pidIn('main')
  await bench.pidIn('child')
  await task.signal('SIGHUP')
  await until('the signal', () => readFile(join(bench.dir, 'heard')).catch(() => undefined))
  await task.stop(stopping)
  assert.equal((await bench.output()).includes('child heard'), false)
})

test('raw_exec: what a task leaves behind when it ends is ended too', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh(`setsid sh -c 'echo $$ >left; sleep 1000' & sleep 1000 & 
    while ! [ -s left ]; do sleep 0.01; done; exit 5`)
  assert.equal((await task.exited).exitCode, 5)
  assert.equal(isGone(await bench.pidIn('left')), true)
})

test('raw_exec: a task that signals its whole group does not end its supervisor', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh('trap "" TERM; kill -TERM 0; exit 6')
  assert.equal((await task.exited).exitCode, 6)
})

const unstartable: readonly {
  readonly name: string
  readonly fields: (dir: string) => Partial<TaskLaunch>
  readonly message: RegExp
}[] = [
  {
    name: 'a command that is nowhere in the path',
    fields: () => ({ config: { command: 'no-such-command' } }),
    message: /^command "no-such-command" was not found in PATH/,
  },
  {
    name: 'a file that is not there',
    fields: () => ({ config: { command: './missing' } }),
    message: /^command ".\/missing" was not found$/,
  },
  {
    name: 'a file that is no program',
    fields: () => ({ config: { command: './plain' } }),
    message: /^command ".\/plain" is not executable$/,
  },
  {
    name: 'a directory',
    fields: () => ({ config: { command: '/tmp' } }),
    message: /is not a file$/,
  },
  {
    name: 'a script whose interpreter is missing',
    fields: () => ({ config: { command: './script' } }),
    message: /script" could not be executed$/,
  },
  {
    name: 'a working directory that is not there',
    fields: () => ({ config: { command: 'true', work_dir: '/no/such' } }),
    message: /^work_dir "\/no\/such" is not a directory$/,
  },
  {
    name: 'an unknown user',
    fields: () => ({ user: 'no-such-user' }),
    message: /^user "no-such-user" does not exist on this node$/,
  },
  {
    name: 'arguments longer than the system takes',
    fields: () => ({ config: { command: 'true', args: ['x'.repeat(300_000)] } }),
    message: /E2BIG/,
  },
]
for (const c of unstartable) {
  test(`raw_exec: ${c.name} cannot be started, and the error has the reason`, async (t) => {
    const bench = await Bench.open(t)
    await writeFile(join(bench.dir, 'plain'), 'text', { mode: 0o644 })
    await writeFile(join(bench.dir, 'script'), '#!/no/such/interpreter\n', { mode: 0o755 })
    const launch = { ...bench.launch('true'), ...c.fields(bench.dir) }
    await assert.rejects(bench.start(launch), { kind: 'task-unstartable', message: c.message })
    assert.deepEqual(await bench.driver.recover(launch.handle), { kind: 'never-started' })
  })
}

test('raw_exec: a link in place of a log file is not followed', async (t) => {
  const bench = await Bench.open(t)
  await writeFile(join(bench.dir, 'precious'), 'keep')
  await symlink(join(bench.dir, 'precious'), join(bench.dir, 'out.0'))
  await assert.rejects(bench.sh('echo overwritten'), /ELOOP/)
  assert.equal(await readFile(join(bench.dir, 'precious'), 'utf8'), 'keep')
})

test('raw_exec: runs as the requested user, without supplementary groups', onlyRoot, async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh('id -u; id -G; echo reopened >/dev/stderr', { user: '65534:65534' })
  assert.equal((await task.exited).exitCode, 0)
  assert.equal(await bench.output(), '65534\n65534\n')
  assert.equal(await readFile(join(bench.dir, 'err.0'), 'utf8'), 'reopened\n')
})

test('raw_exec: when its supervisor is killed the task is ended and said to be lost', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh('echo $$ >main; sleep 1000')
  const main = await bench.pidIn('main')
  const shim = await new ShimRecords(task.handle.dir).shimProcess()
  kill(shim?.pid ?? 0, 'SIGKILL')
  const exit = await task.exited
  assert.match(exit.message, /supervisor/)
  assert.equal(isGone(main), true)
})

test('raw_exec: a supervisor killed while no agent was there leaves nothing behind', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh(`setsid sh -c 'echo $$ >escaped; sleep 1000' & echo $$ >main; wait`)
  const pids = await Promise.all(['escaped', 'main'].map((name) => bench.pidIn(name)))
  const shim = await new ShimRecords(task.handle.dir).shimProcess()
  task.detach()
  kill(shim?.pid ?? 0, 'SIGKILL')
  await until('the end of the supervisor', () => (isGone(shim?.pid ?? 0) ? true : undefined))
  const recovery = await bench.driver.recover(task.handle)
  assert.deepEqual(recovery, { kind: 'lost', reason: 'its supervisor ended without a record' })
  assert.deepEqual(pids.map(isGone), [true, true])
})

test('raw_exec: nothing outlives a restart of the machine', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh('exit 3')
  await task.exited
  const recovery = await bench.driver.recover({ ...task.handle, bootId: 'another boot' })
  assert.deepEqual(recovery, { kind: 'lost', reason: 'the machine was restarted' })
})

test('raw_exec: a start that the next agent called off does not begin later', async (t) => {
  const bench = await Bench.open(t)
  const { handle, env } = bench.launch('true')
  const records = new ShimRecords(handle.dir)
  await records.create(undefined)
  assert.deepEqual(await bench.driver.recover(handle), { kind: 'never-started' })
  // The shim that was on its way when the agent before was killed.
  const args = ['-c', 'echo ran >ran']
  const call = buildShimCall({ recordsDir: handle.dir, file: '/bin/sh', args, env })
  const late = spawn(SHELL, [...call.args], { cwd: bench.dir, stdio: 'ignore' })
  const [status] = await once(late, 'exit')
  assert.equal(status, 97)
  await assert.rejects(readFile(join(bench.dir, 'ran')), { code: 'ENOENT' })
})

test('raw_exec: a record that a task has tampered with is not followed', async (t) => {
  const bench = await Bench.open(t)
  const task = await bench.sh('exit 4')
  await task.exited
  const records = new ShimRecords(task.handle.dir)
  await writeFile(join(task.handle.dir, 'exit'), '4')
  assert.equal(await records.exitRecord(), undefined)
  await writeFile(join(task.handle.dir, 'exit'), `${'9'.repeat(100_000)}\n`)
  assert.equal(await records.exitRecord(), undefined)
})

test('raw_exec: the exit is dated when it happened', async (t) => {
  const bench = await Bench.open(t)
  const beforeMs = Date.now()
  const task = await bench.sh('exit 0')
  const { atMs } = await task.exited
  assert.ok(atMs >= beforeMs - 1_000 && atMs <= Date.now() + 1_000)
})
