/** Who may die without whom: launcher, shim, task and what the task left behind. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  aLauncher,
  isolated,
  isolation,
  isRunning,
  Launcher,
  noHelper,
  noRoot,
  type Spec,
} from './launcher.ts'

const options = { skip: noHelper }
const rootOnly = { skip: noRoot }

/** Becomes true by what another process does, soon: asked again and again, without sleeping. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setImmediate()
}

/** Says the numbers of three processes: itself, a child, and one that left its session. */
const FAMILY = 'sleep 300 & child=$!; setsid sleep 300 & echo $$ $child $!; wait'

async function familyOf(launcher: Launcher, id = 'task'): Promise<readonly number[]> {
  const read = () =>
    existsSync(`${launcher.dir}/logs/${id}.stdout.0`) ? launcher.log(id, 'stdout', 0) : ''
  await until(() => read().endsWith('\n'))
  return read().trim().split(' ').map(Number)
}

test('killTree: nothing is left, not even what left the session', options, async (t) => {
  const launcher = aLauncher(t)
  const handle = await launcher.start({ args: ['-c', FAMILY], logs: launcher.logs('task') })
  const family = await familyOf(launcher)
  assert.ok(family.length === 3 && family.every(isRunning))
  assert.equal((await launcher.killTree(handle)).ok, true)
  assert.deepEqual(family.filter(isRunning), [])
  const exit = await launcher.exit()
  assert.deepEqual([exit.code, exit.signal, exit.killed, exit.left], [137, 9, true, 0])
})

test('killTree: a task that forks as fast as it can is gone too', options, async (t) => {
  const launcher = aLauncher(t)
  const bomb =
    'f() { sleep 300 & sleep 300 & }; for i in 1 2 3 4 5 6 7 8 9 10; do f; setsid sh -c "sleep 300 & sleep 300" & done; echo up; while :; do sh -c "sleep 300 &"; [ $(ls /proc | grep -c "^[0-9]") -lt 600 ] || sleep 1; done'
  const handle = await launcher.start({ args: ['-c', bomb], logs: launcher.logs('task') })
  await until(() => launcher.log('task', 'stdout', 0) === 'up\n')
  assert.equal((await launcher.killTree(handle)).ok, true)
  assert.equal((await launcher.exit()).left, 0)
})

test('what the main process leaves running ends with it', options, async (t) => {
  const launcher = aLauncher(t)
  const script = 'sleep 300 & setsid sleep 300 & echo $$ $!; exit 5'
  await launcher.start({ args: ['-c', script], logs: launcher.logs('task') })
  const exit = await launcher.exit()
  const family = await familyOf(launcher)
  assert.deepEqual([exit.code, exit.killed, exit.left], [5, false, 0])
  assert.deepEqual(family.filter(isRunning), [])
})

test('kill: reaches the task, and never another process with its number', options, async (t) => {
  const launcher = aLauncher(t)
  const script = 'trap "echo got; exit 9" USR1; echo up; while :; do sleep 0.01; done'
  const { taskPid: pid, taskStartTime: startTime } = await launcher.start({
    args: ['-c', script],
    logs: launcher.logs('task'),
  })
  await until(() => launcher.log('task', 'stdout', 0) === 'up\n')
  const stale = await launcher.ask({ op: 'kill', pid, startTime: startTime - 1, signal: 9 })
  assert.deepEqual([stale.ok, stale.kind], [false, 'gone'])
  assert.equal((await launcher.ask({ op: 'alive', pid, startTime }))['alive'], true)
  assert.equal((await launcher.ask({ op: 'kill', pid, startTime, signal: 10 })).ok, true)
  assert.equal((await launcher.exit()).code, 9)
  assert.equal(launcher.log('task', 'stdout', 0), 'up\ngot\n')
  assert.equal((await launcher.ask({ op: 'kill', pid, startTime, signal: 10 })).kind, 'gone')
  assert.equal((await launcher.ask({ op: 'alive', pid, startTime }))['alive'], false)
})

for (const kind of ['raw', 'isolated'] as const) {
  test(
    `launcher killed: ${kind} tasks go on, and leave their exits and logs`,
    { skip: kind === 'raw' ? noHelper : noRoot },
    async (t) => {
      const first = new Launcher()
      const ids = Array.from({ length: 5 }, (_, index) => `t${index}`)
      const gate = `${first.dir}/gate`
      const script = (id: string) =>
        `echo ${id} before; while [ ! -e /gate/gate ]; do sleep 0.01; done; echo ${id} after; exit 4${id[1]}`
      for (const id of ids) {
        const logs = first.logs(id)
        const spec =
          kind === 'raw'
            ? { args: ['-c', script(id).replace('/gate/gate', gate)] }
            : isolatedWithGate(first, script(id))
        await first.start({ id, logs, ...spec })
      }
      const ended = once(first.process, 'exit')
      first.process.kill('SIGKILL')
      await ended
      const second = new Launcher(undefined, first.dir)
      t.after(() => second.close())
      const handles = ids.map((id): Spec => JSON.parse(readFileSync(second.handleFile(id), 'utf8')))
      for (const { shimPid: pid, shimStartTime: startTime } of handles) {
        assert.equal((await second.ask({ op: 'alive', pid, startTime }))['alive'], true)
      }
      await second.ask({
        op: 'write',
        dir: first.dir,
        path: 'gate',
        from: second.handleFile('t0'),
        mode: 0o644,
      })
      for (const id of ids) {
        assert.equal((await second.exit(id)).code, Number(`4${id[1]}`))
        assert.equal(second.log(id, 'stdout', 0), `${id} before\n${id} after\n`)
      }
    },
  )
}

function isolatedWithGate(launcher: Launcher, script: string): Spec {
  const gate = { kind: 'bind', from: launcher.dir, to: '/gate', readOnly: true }
  // Read through a directory that only root may enter.
  const who = { user: 'root', caps: ['dac_override'] }
  return { ...isolated(launcher, script), ...who, isolate: isolation(launcher, [gate]) }
}

test('shim killed: the main process dies; killTree finds the rest', options, async (t) => {
  const launcher = aLauncher(t)
  const handle = await launcher.start({
    args: ['-c', 'sleep 300 & echo $$ $!; wait'],
    logs: launcher.logs('task'),
  })
  const family = await familyOf(launcher)
  process.kill(handle.shimPid, 'SIGKILL')
  await launcher.event((event) => event['event'] === 'ended')
  await until(() => !isRunning(handle.taskPid))
  assert.equal(existsSync(launcher.exitFile('task')), false)
  assert.equal((await launcher.killTree(handle)).ok, true)
  assert.deepEqual(family.filter(isRunning), [])
  assert.equal((await launcher.killTree(handle)).ok, true)
})

test('shim killed: everything in the pid namespace dies at once', rootOnly, async (t) => {
  const launcher = aLauncher(t)
  const handle = await launcher.start(
    isolated(launcher, 'setsid sleep 300 & sleep 300', { logs: launcher.logs('task') }),
  )
  const inside = processesIn(handle.pid)
  await until(() => processesIn(handle.pid).length >= 4)
  const all = processesIn(handle.pid)
  assert.ok(all.length >= inside.length)
  process.kill(handle.shimPid, 'SIGKILL')
  await until(() => !all.some(isRunning))
})

/** Everything in the pid namespace of an init, found by its name in /proc. */
function processesIn(init: number): readonly number[] {
  const children = (pid: number): readonly number[] => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
      return text === '' ? [] : text.split(' ').map(Number)
    } catch {
      return []
    }
  }
  const below = (pid: number): readonly number[] => [pid, ...children(pid).flatMap(below)]
  return below(init)
}

test(
  'an isolated task obeys a signal sent to its init, and one sent to itself',
  rootOnly,
  async (t) => {
    const launcher = aLauncher(t)
    const script =
      'trap "echo term" TERM; trap "echo hup; exit 6" HUP; echo up; while :; do sleep 0.01; done'
    const handle = await launcher.start(isolated(launcher, script, { logs: launcher.logs('task') }))
    await until(() => launcher.log('task', 'stdout', 0) === 'up\n')
    const { pid, startTime, taskPid, taskStartTime } = handle
    assert.notEqual(pid, taskPid)
    await launcher.ask({ op: 'kill', pid, startTime, signal: 15 })
    await until(() => launcher.log('task', 'stdout', 0) === 'up\nterm\n')
    await launcher.ask({ op: 'kill', pid: taskPid, startTime: taskStartTime, signal: 1 })
    assert.equal((await launcher.exit()).code, 6)
  },
)

test(
  'a task without a handler dies of SIGTERM although it is in a pid namespace',
  rootOnly,
  async (t) => {
    const launcher = aLauncher(t)
    const { pid, startTime } = await launcher.start(isolated(launcher, 'exec sleep 300'))
    await launcher.ask({ op: 'kill', pid, startTime, signal: 15 })
    const exit = await launcher.exit()
    assert.deepEqual([exit.code, exit.signal], [143, 15])
  },
)

test('500 short tasks all end, each with its own code', options, async (t) => {
  const launcher = aLauncher(t)
  const results = await Promise.all(
    Array.from({ length: 500 }, async (_, index) => {
      const answer = await launcher.run({ id: `n${index}`, args: ['-c', `exit ${index % 256}`] })
      assert.equal(answer.ok, true, answer.message)
      return index
    }),
  )
  await Promise.all(
    results.map((index) => launcher.event((event) => event['task'] === `n${index}`)),
  )
  for (const index of results) assert.equal((await launcher.exit(`n${index}`)).code, index % 256)
})
