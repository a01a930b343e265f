/** cgroups as this machine has them: made, limited, joined, killed, counted. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { Session, sessionSpec } from './session.ts'
import { aLauncher, isolated, isRunning, noRoot, type Launcher, type Spec } from './launcher.ts'

const V1 = '/sys/fs/cgroup'
const UNIFIED = existsSync('/sys/fs/cgroup/cgroup.controllers') ? V1 : '/sys/fs/cgroup/unified'
const options = { timeout: 300_000 }

function without(controller: string): string | false {
  if (noRoot !== false) return noRoot
  try {
    const probe = join(V1, controller, `reeve-probe-${process.pid}`)
    mkdirSync(probe)
    rmdirSync(probe)
    return false
  } catch {
    return `there is no writable version 1 hierarchy ${controller}`
  }
}

const noUnified =
  noRoot === false && !existsSync(join(UNIFIED, 'cgroup.procs'))
    ? 'there is no version 2 hierarchy'
    : noRoot

/** The path of a group that is removed after the test, by the operation that agents use. */
function aGroup(t: TestContext, launcher: Launcher, where: string): string {
  const path = join(where, `reeve-test-${process.pid}-${launcher.process.pid}`)
  t.after(() => {
    if (existsSync(path)) rmdirSync(path)
  })
  return path
}

/** The group of a process, below the hierarchy of the controller. */
function pidsGroupOf(pid: number): string | undefined {
  return /pids:(.*)/.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1]
}

for (const kind of ['raw', 'isolated'] as const) {
  test(
    `memory limit: an OOM kill is told as one, ${kind}`,
    { ...options, skip: without('memory') },
    async (t) => {
      const launcher = aLauncher(t)
      const path = aGroup(t, launcher, join(V1, 'memory'))
      const limit = String(32 << 20)
      const script = 'tail /dev/zero'
      const task =
        kind === 'raw' ? { args: ['-c', `exec ${script}`] } : isolated(launcher, `exec ${script}`)
      await launcher.start({
        ...task,
        cgroups: [
          {
            path,
            write: [
              ['memory.limit_in_bytes', limit],
              ['memory.memsw.limit_in_bytes', limit, 'try'],
            ],
          },
        ],
        killCgroup: path,
        oomFile: join(path, 'memory.oom_control'),
      })
      const exit = await launcher.exit()
      assert.deepEqual([exit.code, exit.signal, exit.oom], [137, 9, true])
      assert.ok(exit.oomKills >= 1)
      const answer = await launcher.ask({ op: 'removeCgroups', paths: [path] })
      assert.equal(answer.ok, true, answer.message)
      assert.equal(existsSync(path), false)
    },
  )
}

test(
  'memory limit: the whole task ends when a child of it is killed',
  { ...options, skip: without('memory') },
  async (t) => {
    const launcher = aLauncher(t)
    const path = aGroup(t, launcher, join(V1, 'memory'))
    const limit = String(32 << 20)
    await launcher.start({
      args: ['-c', 'while :; do tail /dev/zero; done'],
      cgroups: [{ path, write: [['memory.limit_in_bytes', limit]] }],
      killCgroup: path,
      oomFile: join(path, 'memory.oom_control'),
    })
    const exit = await launcher.exit()
    assert.deepEqual([exit.signal, exit.oom], [9, true])
    await launcher.ask({ op: 'removeCgroups', paths: [path] })
  },
)

/**
 * A shell may tell of its child's end before anybody else can: that one ends by itself, with the
 * status of a process that was killed. The counter is a file here, so that it always does.
 */
for (const { ends, isOom } of [
  { ends: 'exit 137', isOom: true },
  { ends: 'exit 1', isOom: false },
  { ends: 'exit 0', isOom: false },
])
  test(`memory limit: a child is killed, and the task ends with "${ends}"`, options, async (t) => {
    const launcher = aLauncher(t)
    const oomFile = join(await temporaryDirectory(t), 'counter')
    writeFileSync(oomFile, 'oom_kill_disable 0\noom_kill 2\n')
    await launcher.start({
      args: ['-c', `printf 'oom_kill_disable 0\\noom_kill 3\\n' > ${oomFile}; ${ends}`],
      oomFile,
    })
    const exit = await launcher.exit()
    assert.deepEqual([exit.signal, exit.oom, exit.oomKills], [0, isOom, 1])
  })

test(
  'a SIGKILL by hand under a memory limit is no OOM',
  { ...options, skip: without('memory') },
  async (t) => {
    const launcher = aLauncher(t)
    const path = aGroup(t, launcher, join(V1, 'memory'))
    await launcher.start({
      args: ['-c', 'kill -9 $$'],
      cgroups: [{ path, write: [] }],
      oomFile: join(path, 'memory.oom_control'),
    })
    const exit = await launcher.exit()
    assert.deepEqual([exit.signal, exit.oom, exit.oomKills], [9, false, 0])
    await launcher.ask({ op: 'removeCgroups', paths: [path] })
  },
)

test(
  'process limit: a fork bomb meets it, and is killed whole',
  { ...options, skip: without('pids') },
  async (t) => {
    const launcher = aLauncher(t)
    const path = aGroup(t, launcher, join(V1, 'pids'))
    const freezer = aGroup(t, launcher, join(V1, 'freezer'))
    const handle = await launcher.start({
      args: ['-c', 'b() { b | b & }; b; echo up; sleep 300'],
      cgroups: [{ path, write: [['pids.max', '20']] }, { path: freezer }],
      killCgroup: freezer,
      logs: launcher.logs('task'),
    })
    while (!/max [1-9]/.test(readFileSync(join(path, 'pids.events'), 'utf8')))
      await new Promise(setImmediate)
    assert.ok(Number(readFileSync(join(path, 'pids.current'), 'utf8')) <= 20)
    assert.equal((await launcher.killTree(handle)).ok, true)
    const exit = await launcher.exit()
    assert.equal(exit.left, 0)
    assert.equal((await launcher.ask({ op: 'removeCgroups', paths: [path, freezer] })).ok, true)
  },
)

for (const { name, where, skip } of [
  { name: 'cgroup.kill', where: UNIFIED, skip: noUnified },
  { name: 'the freezer', where: join(V1, 'freezer'), skip: without('freezer') },
  { name: 'plain lists', where: join(V1, 'pids'), skip: without('pids') },
]) {
  test(
    `kill by ${name}: everything in the group goes, also without a shim`,
    { ...options, skip },
    async (t) => {
      const launcher = aLauncher(t)
      const path = aGroup(t, launcher, where)
      const handle = await launcher.start({
        args: ['-c', 'setsid sleep 300 & (setsid setsid sleep 300 &) ; echo $$ $!; wait'],
        cgroups: [{ path }],
        killCgroup: path,
        logs: launcher.logs('task'),
      })
      while (!launcher.log('task', 'stdout', 0).endsWith('\n')) await new Promise(setImmediate)
      const listed = () =>
        readFileSync(join(path, 'cgroup.procs'), 'utf8')
          .trim()
          .split('\n')
          .filter((line) => line !== '')
      while (listed().length < 3) await new Promise(setImmediate)
      const members = listed().map(Number)
      process.kill(handle.shimPid, 'SIGKILL')
      await launcher.event((event) => event['event'] === 'ended')
      const answer = await launcher.killTree(handle, { killCgroup: path })
      assert.equal(answer.ok, true, answer.message)
      assert.deepEqual(listed(), [])
      assert.deepEqual(members.filter(isRunning), [])
      assert.equal((await launcher.ask({ op: 'removeCgroups', paths: [path] })).ok, true)
    },
  )
}

test(
  'a limit that the kernel refuses is a start error, and leaves no group',
  { ...options, skip: without('memory') },
  async (t) => {
    const launcher = aLauncher(t)
    const path = aGroup(t, launcher, join(V1, 'memory'))
    const answer = await launcher.run({
      args: ['-c', 'true'],
      cgroups: [{ path, write: [['memory.limit_in_bytes', 'much']] }],
    })
    assert.equal(answer.kind, 'start')
    assert.match(answer.message ?? '', /write "much" to .*memory\.limit_in_bytes: Invalid argument/)
    assert.equal(existsSync(path), false)
    const tried = await launcher.run({
      id: 'b',
      args: ['-c', 'true'],
      cgroups: [{ path, write: [['memory.limit_in_bytes', 'much', 'try']] }],
    })
    assert.equal(tried.ok, true)
    await launcher.exit('b')
    await launcher.ask({ op: 'removeCgroups', paths: [path] })
  },
)

test(
  'a shim lives in its own group, a session in that of the task',
  { ...options, skip: without('pids') },
  async (t) => {
    const launcher = aLauncher(t)
    const path = aGroup(t, launcher, join(V1, 'pids'))
    const shims = join(V1, 'pids', `reeve-test-shims-${process.pid}`)
    const handle = await launcher.start({
      command: 'sleep',
      args: ['300'],
      cgroups: [{ path }],
      killCgroup: path,
      shimCgroups: [shims],
    })
    assert.equal(pidsGroupOf(handle.shimPid), shims.slice(join(V1, 'pids').length))
    assert.equal(pidsGroupOf(handle.taskPid), path.slice(join(V1, 'pids').length))
    const spec: Spec = sessionSpec(handle, {
      cgroups: [path],
      args: ['-c', 'grep pids: /proc/self/cgroup; sleep 300'],
    })
    const session = new Session(spec)
    await session.sees(path.slice(join(V1, 'pids').length))
    await launcher.killTree(handle)
    assert.deepEqual(await session.ended, { code: 137, signal: 9 })
    const answer = await launcher.ask({ op: 'removeCgroups', paths: [path, shims] })
    assert.equal(answer.ok, true, answer.message)
  },
)

test(
  'where the launcher has settled, shims are born',
  { ...options, skip: without('pids') },
  async (t) => {
    const launcher = aLauncher(t)
    const path = aGroup(t, launcher, join(V1, 'pids'))
    const { pid = 0 } = launcher.process
    const settled = join(V1, 'pids', `reeve-test-settled-${pid}`)
    t.after(() => rmdirSync(settled))
    const settle = { op: 'settle', paths: ['/proc/none', settled, '/etc/hosts'] }
    // What is no group is no error, and to repeat it changes nothing.
    for (let i = 0; i < 20; i++) assert.equal((await launcher.ask(settle)).ok, true)
    const shims = settled.slice(join(V1, 'pids').length)
    assert.equal(pidsGroupOf(pid), shims)
    const task = { command: 'sleep', args: ['300'] }
    const born = await launcher.start({ ...task, cgroups: [{ path }], shimCgroups: [settled] })
    assert.equal(pidsGroupOf(born.shimPid), shims)
    assert.equal(pidsGroupOf(born.taskPid), path.slice(join(V1, 'pids').length))
    await launcher.killTree(born)
    assert.equal((await launcher.ask({ op: 'removeCgroups', paths: [path] })).ok, true)
    // Back to where it came from, so that the group can go.
    writeFileSync(join(V1, 'pids', 'cgroup.procs'), String(pid))
  },
)

test(
  'the score of the OOM killer and a CPU share are what was asked',
  { ...options, skip: without('cpu') },
  async (t) => {
    const launcher = aLauncher(t)
    const path = aGroup(t, launcher, join(V1, 'cpu'))
    const { stdout } = await launcher.finish({
      args: ['-c', 'cat /proc/self/oom_score_adj'],
      oomScoreAdj: 500,
      cgroups: [
        {
          path,
          write: [
            ['cpu.shares', '512'],
            ['cpu.cfs_quota_us', '50000'],
          ],
        },
      ],
    })
    assert.equal(stdout, '500\n')
    assert.equal(readFileSync(join(path, 'cpu.shares'), 'utf8'), '512\n')
    await launcher.ask({ op: 'removeCgroups', paths: [path] })
  },
)
