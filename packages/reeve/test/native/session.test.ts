/** Sessions beside a task, with and without a terminal, as the helper sees them. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { until } from '../build/until.ts'
import { Session, sessionSpec, type SessionEnd } from './session.ts'
import {
  aLauncher,
  isolated,
  isRunning,
  noHelper,
  noRoot,
  type Handle,
  type Launcher,
  type Spec,
} from './launcher.ts'

interface World {
  readonly launcher: Launcher
  readonly handle: Handle
  open(more: Spec): Session
}

/** A task that only waits, and sessions beside it. */
async function aWorld(t: TestContext, kind: 'raw' | 'isolated'): Promise<World> {
  const launcher = aLauncher(t)
  const task =
    kind === 'raw' ? { command: 'sleep', args: ['300'] } : isolated(launcher, 'exec sleep 300')
  const handle = await launcher.start(task)
  const world = kind === 'raw' ? {} : { isolated: true, user: 'nobody' }
  return {
    launcher,
    handle,
    open: (more) => new Session(sessionSpec(handle, { ...world, ...more })),
  }
}

async function outcome(session: Session): Promise<SessionEnd | undefined> {
  const start = await session.started
  assert.equal(start.ok, true, start.message)
  const end = await session.ended
  assert.equal(await session.status, end?.code)
  return end
}

/** Whether a process that has not ended is in the group. */
function hasLiveGroup(group: number): boolean {
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const line = readFileSync(`/proc/${name}/stat`, 'latin1')
      const [state, , found] = line.slice(line.lastIndexOf(')') + 2).split(' ')
      return Number(found) === group && state !== 'Z' && state !== 'X'
    } catch {
      return false
    }
  })
}

const worlds = [
  { kind: 'raw', skip: noHelper },
  { kind: 'isolated', skip: noRoot },
] as const
/** A session that hangs is a finding, not a reason to wait for the whole suite's limit. */
const timeout = 120_000
const tty = { rows: 24, columns: 80 }

for (const { kind, skip } of worlds) {
  test(
    `${kind} session: plain streams carry every byte, and the end of the input`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const session = world.open({ args: ['-c', 'cat; echo done >&2; exit 3'] })
      const bytes = 'line of text\n'.repeat(50_000)
      session.stdin.end(bytes)
      assert.deepEqual(await outcome(session), { code: 3, signal: 0 })
      assert.equal(session.stdout, bytes)
      assert.equal(session.stderr, 'done\n')
    },
  )

  test(
    `${kind} session: exit codes and signals are distinguished`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      for (const { script, end } of [
        { script: 'exit 0', end: { code: 0, signal: 0 } },
        { script: 'exit 130', end: { code: 130, signal: 0 } },
        { script: 'kill -2 $$', end: { code: 130, signal: 2 } },
        { script: 'kill -9 $$', end: { code: 137, signal: 9 } },
        { script: 'exit 255', end: { code: 255, signal: 0 } },
      ]) {
        assert.deepEqual(await outcome(world.open({ args: ['-c', script] })), end, script)
      }
    },
  )

  test(
    `${kind} session: a terminal has the size it was given, and each later one`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const script =
        'trap "stty size" WINCH; stty size; echo up; while [ ! -e /tmp/none ]; do sleep 0.01; done'
      const session = world.open({ args: ['-c', script], tty: { rows: 33, columns: 101 } })
      await session.sees('33 101\r\nup')
      session.tell('resize 50 200')
      await session.sees('50 200')
      session.tell('resize 1 2')
      await session.sees('1 2\r\n')
      session.tell('hangup')
      assert.deepEqual(await outcome(session), { code: 129, signal: 1 })
    },
  )

  test(`${kind} session: Ctrl-C ends what is in front`, { skip, timeout }, async (t) => {
    const world = await aWorld(t, kind)
    const session = world.open({ args: ['-c', 'echo up; while :; do sleep 0.01; done'], tty })
    await session.sees('up')
    session.type('\u0003')
    assert.deepEqual(await outcome(session), { code: 130, signal: 2 })
  })

  test(
    `${kind} session: a shell has job control: Ctrl-Z stops, the shell goes on`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const session = world.open({
        command: '/bin/bash',
        args: ['--norc', '--noprofile', '-i'],
        tty,
      })
      await session.sees('> ')
      session.type('sh -c "echo o\'\'n; exec sleep 300"\n')
      await session.sees(/[\r\n]on\r\n/)
      session.type('\u001a')
      await session.sees('Stopped')
      assert.doesNotMatch(session.stdout, /no job control|Cannot set tty/)
      session.type('exit 7\n')
      await session.sees('There are stopped jobs')
      session.type('exit 7\n')
      assert.deepEqual(await outcome(session), { code: 7, signal: 0 })
    },
  )

  test(
    `${kind} session: the end of the input is the end-of-file character`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const session = world.open({ args: ['-c', 'cat; echo over; exit 4'], tty })
      session.type('typed\n')
      await session.sees('typed\r\ntyped\r\n')
      session.stdin.end()
      assert.deepEqual(await outcome(session), { code: 4, signal: 0 })
      assert.match(session.stdout, /over\r\n$/)
    },
  )

  test(
    `${kind} session: a control line ends the input, behind what was sent`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const session = world.open({ args: ['-c', 'echo up; wc -c'] })
      await session.sees('up')
      session.type('x'.repeat(10_000))
      session.tell('eof')
      assert.deepEqual(await outcome(session), { code: 0, signal: 0 })
      assert.equal(session.stdout.trim().split('\n').at(-1)?.trim(), '10000')
    },
  )

  test(
    `${kind} session: it hangs up when the agent is gone, and kills what does not listen`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const polite = world.open({ args: ['-c', 'echo up; exec sleep 300'], tty })
      await polite.sees('up')
      polite.control.end()
      assert.deepEqual(await outcome(polite), { code: 129, signal: 1 })
      const deaf = world.open({
        args: ['-c', 'trap "" HUP; echo up; while :; do sleep 0.05; done'],
      })
      await deaf.sees('up')
      deaf.control.end()
      assert.deepEqual(await outcome(deaf), { code: 137, signal: 9 })
    },
  )

  test(
    `${kind} session: without a terminal the hang-up ends what the command started`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const deaf = 'trap "" HUP; echo $$; exec sleep 300'
      const script = `sh -c '${deaf}' & sleep 300 & wait`
      const session = world.open({ args: ['-c', script] })
      await session.sees('\n')
      const { pid = 0 } = await session.started
      session.tell('hangup')
      assert.deepEqual(await outcome(session), { code: 129, signal: 1 })
      // Force acts in the kernel's own time.
      await until('everything of it to end', () => (hasLiveGroup(pid) ? undefined : true))
    },
  )

  test(`${kind} session: a signal reaches the command`, { skip, timeout }, async (t) => {
    const world = await aWorld(t, kind)
    const session = world.open({
      args: ['-c', 'trap "exit 8" USR1; echo up; while :; do sleep 0.01; done'],
    })
    await session.sees('up')
    session.tell('nonsense')
    session.tell('signal 10')
    assert.deepEqual(await outcome(session), { code: 8, signal: 0 })
  })

  test(`${kind} session: ends with the task`, { skip, timeout }, async (t) => {
    const world = await aWorld(t, kind)
    const session = world.open({
      args: ['-c', 'trap "" HUP TERM; echo up; while :; do sleep 0.05; done'],
    })
    await session.sees('up')
    await world.launcher.killTree(world.handle)
    assert.deepEqual(await outcome(session), { code: 137, signal: 9 })
    const late = world.open({ args: ['-c', 'true'] })
    assert.deepEqual((await late.started).kind, 'gone')
    assert.equal(await late.status, 125)
  })

  test(
    `${kind} session: a helper that is killed takes its command along`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      const session = world.open({ args: ['-c', 'echo up; exec sleep 300'] })
      await session.sees('up')
      const command = (await session.started).pid ?? 0
      assert.equal(isRunning(command), true)
      process.kill(session.pid, 'SIGKILL')
      await session.status
      while (isRunning(command)) await new Promise(setImmediate)
    },
  )

  test(
    `${kind} session: a failed start is reported with its kind`,
    { skip, timeout },
    async (t) => {
      const world = await aWorld(t, kind)
      for (const { spec, wanted } of [
        { spec: { command: 'no-such' }, wanted: 'unstartable' },
        { spec: { command: '' }, wanted: 'config' },
        { spec: { user: 'no-such' }, wanted: 'config' },
        { spec: { cwd: '/no/such' }, wanted: 'unstartable' },
        { spec: { startTime: 1 }, wanted: 'gone' },
        { spec: { odd: 1 }, wanted: 'config' },
        { spec: { tty: { rows: 70_000, columns: 1 } }, wanted: 'config' },
      ]) {
        const session = world.open(spec)
        assert.equal((await session.started).kind, wanted, JSON.stringify(spec))
        assert.equal(await session.status, 125)
        assert.equal(await session.ended, undefined)
      }
    },
  )
}

test(
  'isolated session: it is in the task: same processes, same rights, same files',
  { skip: noRoot, timeout },
  async (t) => {
    const world = await aWorld(t, 'isolated')
    const script =
      'cat /proc/1/comm; hostname; id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; ls /; tty'
    const session = world.open({ args: ['-c', script], tty })
    assert.deepEqual(await outcome(session), { code: 0, signal: 0 })
    const none = '0'.repeat(16)
    const lines = session.stdout.trim().split('\r\n')
    assert.deepEqual(lines.slice(0, 7), [
      'reeve-task',
      'task-host',
      '65534',
      `CapEff:\t${none}`,
      `CapBnd:\t${none}`,
      'NoNewPrivs:\t1',
      'Seccomp:\t2',
    ])
    assert.equal(lines.at(-1), '/dev/pts/0')
  },
)

test(
  'isolated session: nothing of the helper can be read from inside',
  { skip: noRoot, timeout },
  async (t) => {
    const world = await aWorld(t, 'isolated')
    const session = world.open({
      args: ['-c', 'ls /proc/$$/fd; cat /proc/1/environ'],
      user: 'root',
    })
    await outcome(session)
    assert.deepEqual(session.stdout.trim().split('\n'), ['0', '1', '2'])
    assert.match(session.stderr, /Permission denied/)
  },
)

test('a session is in the cgroups it is told', { skip: noRoot, timeout }, async (t) => {
  const world = await aWorld(t, 'raw')
  const session = world.open({ cgroups: ['/no/such'], args: ['-c', 'true'] })
  const start = await session.started
  assert.equal(start.ok, false)
  assert.match(start.message ?? '', /open cgroup \/no\/such/)
  assert.ok(readFileSync('/proc/self/cgroup', 'utf8') !== '')
})
