/** The launcher and the shim of a task that shares the host: starts, ends, what it is given. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../build/until.ts'
import { aLauncher, helper, noHelper, noRoot, type Spec } from './launcher.ts'

const options = { skip: noHelper }
const rootOnly = { skip: noRoot }

test('the launcher says that it is ready, and goes when its input ends', options, async (t) => {
  const launcher = aLauncher(t)
  const ready = await launcher.event((event) => event['event'] === 'ready')
  assert.equal(ready['v'], 1)
  assert.equal(ready['pid'], launcher.process.pid)
  await launcher.close()
  assert.equal(launcher.process.exitCode, 0)
})

test('a task runs: the answer, the handle and the exit record agree', options, async (t) => {
  const launcher = aLauncher(t)
  const answer = await launcher.run({ id: 'a', args: ['-c', 'exit 0'] })
  const handle: Spec = JSON.parse(readFileSync(launcher.handleFile('a'), 'utf8'))
  const exit = await launcher.exit('a')
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  assert.equal(answer.ok, true)
  for (const key of ['pid', 'startTime', 'taskPid', 'taskStartTime', 'shimPid', 'shimStartTime']) {
    assert.equal(handle[key], answer[key], key)
  }
  assert.equal(handle['bootId'], bootId)
  assert.equal(handle['isolated'], false)
  assert.equal(answer['pid'], answer['taskPid'])
  assert.equal(exit.id, 'a')
  assert.equal(statSync(launcher.exitFile('a')).mode & 0o777, 0o600)
  await launcher.event((event) => event['event'] === 'ended' && event['task'] === 'a')
})

test('an exit code is reported unchanged, even if it looks like a signal', options, async (t) => {
  const launcher = aLauncher(t)
  for (const code of [0, 1, 127, 128, 129, 137, 143, 192, 200, 255]) {
    const { exit } = await launcher.finish({ id: `code-${code}`, args: ['-c', `exit ${code}`] })
    assert.deepEqual([exit.code, exit.signal], [code, 0])
  }
})

const DEADLY = ['HUP', 'INT', 'QUIT', 'ILL', 'TRAP', 'ABRT', 'BUS', 'FPE', 'KILL', 'USR1'].concat(
  ['SEGV', 'USR2', 'PIPE', 'ALRM', 'TERM', 'STKFLT', 'XCPU', 'XFSZ', 'VTALRM', 'PROF', 'IO'],
  ['PWR', 'SYS'],
)

test('a death by signal is reported with the signal, for each that kills', options, async (t) => {
  const launcher = aLauncher(t)
  const numbers: Readonly<Record<string, number>> = constants.signals
  for (const name of DEADLY) {
    const number = numbers[`SIG${name}`] ?? assert.fail(name)
    // No core files: they would be written into the working directory.
    const { exit } = await launcher.finish({
      id: name,
      args: ['-c', `kill -${number} $$`],
      rlimits: { core: [0, 0] },
    })
    assert.deepEqual([exit.code, exit.signal], [128 + number, number], name)
  }
})

const refused = [
  {
    name: 'a command that is nowhere',
    spec: { command: 'no-such' },
    kind: 'unstartable',
    says: /was not found in PATH \/usr\/bin:\/bin/,
  },
  {
    name: 'a path that is nowhere',
    spec: { command: '/no/such' },
    kind: 'unstartable',
    says: /was not found/,
  },
  {
    name: 'a directory as command',
    spec: { command: '/usr' },
    kind: 'unstartable',
    says: /is not a file/,
  },
  {
    name: 'a file that is not executable',
    spec: { command: '/etc/passwd' },
    kind: 'unstartable',
    says: /is not executable/,
  },
  { name: 'an empty command', spec: { command: '' }, kind: 'config', says: /command is empty/ },
  {
    name: 'a missing directory',
    spec: { cwd: '/no/such' },
    kind: 'unstartable',
    says: /working directory \/no\/such: No such file/,
  },
  {
    name: 'a relative directory',
    spec: { cwd: 'tmp' },
    kind: 'config',
    says: /cwd must be an absolute path/,
  },
  {
    name: 'a path that climbs',
    spec: { cwd: '/tmp/../etc' },
    kind: 'config',
    says: /without \.\./,
  },
  {
    name: 'an unknown user',
    spec: { user: 'nobody-such' },
    kind: 'config',
    says: /user "nobody-such" is not known/,
  },
  {
    name: 'a denied user',
    spec: { denyUsers: [String(process.getuid?.() ?? 0)] },
    kind: 'config',
    says: /may not run tasks here/,
  },
  {
    name: 'an unknown capability',
    spec: { caps: ['CAP_FLY'] },
    kind: 'config',
    says: /no capability "CAP_FLY"/,
  },
  { name: 'an unknown member', spec: { comand: 'x' }, kind: 'config', says: /comand is not known/ },
  {
    name: 'an unknown limit',
    spec: { rlimits: { files: [1, 1] } },
    kind: 'config',
    says: /rlimits\.files is not known/,
  },
  {
    name: 'a soft limit above the hard one',
    spec: { rlimits: { nofile: [9, 8] } },
    kind: 'config',
    says: /soft at most hard/,
  },
  {
    name: 'seccomp without its condition',
    spec: { seccomp: true },
    kind: 'config',
    says: /seccomp needs noNewPrivs/,
  },
  {
    name: 'a variable without a name',
    spec: { env: { '': 'x' } },
    kind: 'config',
    says: /no name of a variable/,
  },
  {
    name: 'a variable with a sign in it',
    spec: { env: { 'A=B': 'x' } },
    kind: 'config',
    says: /no name of a variable/,
  },
  { name: 'a NUL in an argument', spec: { args: ['a\0b'] }, kind: 'config', says: /NUL/ },
  { name: 'another version', spec: { v: 2 }, kind: 'config', says: /v must be 1/ },
  { name: 'a bad id', spec: { id: 'a/b' }, kind: 'config', says: /id must be/, file: 'odd' },
  {
    name: 'a cgroup that is none',
    spec: { cgroups: [{ path: '/tmp' }] },
    kind: 'unstartable',
    says: /is not a cgroup/,
  },
  {
    name: 'one prefix for both logs',
    spec: { logs: { stdout: '/tmp/x', stderr: '/tmp/x', maxBytes: 1, maxFiles: 1 } },
    kind: 'config',
    says: /different prefixes/,
  },
  {
    name: 'a log directory that is missing',
    spec: { logs: { stdout: '/no/x', stderr: '/no/y', maxBytes: 1, maxFiles: 1 } },
    kind: 'start',
    says: /open log directory \/no\//,
  },
  {
    name: 'a network namespace that is missing',
    spec: { netns: '/no/such' },
    kind: 'unstartable',
    says: /network namespace \/no\/such/,
  },
]

test(
  'what cannot start is refused with a kind and a sentence, and leaves nothing',
  options,
  async (t) => {
    const launcher = aLauncher(t)
    for (const c of refused) {
      const whole = launcher.spec({ id: 'x', ...c.spec })
      const file = join(launcher.dir, 'tasks', 'x.spec')
      writeFileSync(file, JSON.stringify(whole), { mode: 0o600 })
      const answer = await launcher.ask({ op: 'run', spec: file })
      assert.equal(answer.ok, false, c.name)
      assert.equal(answer.kind, c.kind, `${c.name}: ${answer.message}`)
      assert.match(answer.message ?? '', c.says, c.name)
      assert.throws(() => statSync(launcher.exitFile('x')), c.name)
      assert.throws(() => statSync(launcher.handleFile('x')), c.name)
    }
  },
)

test('a script that names a missing interpreter is told so', options, async (t) => {
  const launcher = aLauncher(t)
  const file = join(launcher.dir, 'script')
  writeFileSync(file, '#!/no/such/shell\n', { mode: 0o755 })
  const answer = await launcher.run({ command: file })
  assert.equal(answer.kind, 'unstartable')
  assert.match(answer.message ?? '', /needs an interpreter or loader that is not there/)
  writeFileSync(file, 'echo no shebang\n', { mode: 0o755 })
  const plain = await launcher.run({ command: file })
  assert.match(plain.message ?? '', /is not a program/)
})

test('a spec that others could write, or that is no file, is refused', options, async (t) => {
  const launcher = aLauncher(t)
  const file = join(launcher.dir, 'tasks', 'open.spec')
  writeFileSync(file, JSON.stringify(launcher.spec({})))
  chmodSync(file, 0o666)
  assert.match((await launcher.ask({ op: 'run', spec: file })).message ?? '', /written by others/)
  chmodSync(file, 0o600)
  const link = join(launcher.dir, 'tasks', 'link.spec')
  symlinkSync(file, link)
  assert.equal((await launcher.ask({ op: 'run', spec: link })).kind, 'config')
  assert.equal((await launcher.ask({ op: 'run', spec: launcher.dir })).kind, 'config')
  writeFileSync(file, 'x'.repeat((1 << 20) + 1))
  assert.match((await launcher.ask({ op: 'run', spec: file })).message ?? '', /too large/)
})

test('the environment is exactly the one of the spec', options, async (t) => {
  const launcher = aLauncher(t)
  const env = { PATH: '/bin:/usr/bin', A: '', 'odd name': 'x y\nz', Ü: 'ä"\\' }
  const { stdout } = await launcher.finish({ command: 'env', args: ['-0'], env })
  const seen = stdout.split('\0').filter((entry) => entry !== '')
  assert.deepEqual(
    seen.toSorted(),
    Object.entries(env)
      .map(([k, v]) => `${k}=${v}`)
      .toSorted(),
  )
  const { stdout: none } = await launcher.finish({ id: 'none', command: '/usr/bin/env', env: {} })
  assert.equal(none, '')
})

test(
  'arguments arrive as they are, and the program is named by the command',
  options,
  async (t) => {
    const launcher = aLauncher(t)
    const args = ['-c', 'printf "%s|" "$0" "$@"', 'zero', '', 'a b', '*', '$HOME', '\n', 'ü']
    const { stdout } = await launcher.finish({ args })
    assert.equal(stdout, 'zero||a b|*|$HOME|\n|ü|')
  },
)

test('the task has three descriptors, an empty input and its own session', options, async (t) => {
  const launcher = aLauncher(t)
  const script =
    'for f in /proc/$$/fd/*; do echo ${f##*/}; done; cat; cut -d" " -f1,6 /proc/$$/stat'
  const { stdout } = await launcher.finish({ args: ['-c', script] })
  const lines = stdout.trim().split('\n')
  // The shell holds nothing but these while it expands the pattern.
  assert.deepEqual(
    lines.slice(0, -1).filter((line) => Number(line) < 3),
    ['0', '1', '2'],
  )
  const [pid, session] = (lines.at(-1) ?? '').split(' ')
  assert.equal(pid, session)
})

test('no descriptor of launcher, shim or another task reaches a task', rootOnly, async (t) => {
  const launcher = aLauncher(t)
  await launcher.start({
    id: 'other',
    command: 'sleep',
    args: ['60'],
    logs: launcher.logs('other'),
  })
  const handle = await launcher.start({
    id: 'one',
    command: 'sleep',
    args: ['60'],
    logs: launcher.logs('one'),
  })
  // A program opens its libraries while it starts; what it inherited would stay open.
  await until('the task to hold its three descriptors only', () =>
    descriptors(handle.taskPid).length === 3 ? true : undefined,
  )
  // The shim must not hold the launcher's socket open either: the agent waits for its end.
  assert.deepEqual(
    descriptors(handle.shimPid).filter((name) => name.startsWith('socket:')),
    [],
  )
  await launcher.killTree(handle)
  const other: Spec = JSON.parse(readFileSync(launcher.handleFile('other'), 'utf8'))
  await launcher.ask({ op: 'killTree', ...pids(other) })
})

/** What a process holds open, without those that it closes meanwhile. */
function descriptors(pid: number): readonly string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

function pids(handle: Spec): Spec {
  const names = ['pid', 'startTime', 'taskPid', 'taskStartTime', 'shimPid', 'shimStartTime']
  return Object.fromEntries(names.map((name) => [name, handle[name]]))
}

test('signals are at their default in the task', options, async (t) => {
  const launcher = aLauncher(t)
  const { stdout } = await launcher.finish({
    command: 'grep',
    args: ['-E', '^Sig(Blk|Ign)', '/proc/self/status'],
  })
  assert.deepEqual(
    stdout.match(/[0-9a-f]{16}/g),
    Array.from({ length: 2 }, () => '0'.repeat(16)),
  )
})

test('limits and the file mask are those of the spec', options, async (t) => {
  const launcher = aLauncher(t)
  const { stdout } = await launcher.finish({
    args: ['-c', 'ulimit -Sn; ulimit -Hn; ulimit -c; umask'],
    rlimits: { nofile: [64, 128], core: [0, 0] },
    umask: 0o27,
  })
  assert.equal(stdout, '64\n128\n0\n0027\n')
})

test(
  'a task of another user has that user, its groups, and may reopen its output',
  rootOnly,
  async (t) => {
    const launcher = aLauncher(t)
    chmodSync(launcher.dir, 0o755)
    const script =
      'id -u; id -g; id -G; echo again > /dev/stdout; grep -E "^Cap(Prm|Eff)" /proc/self/status'
    const { stdout } = await launcher.finish({ user: 'nobody', args: ['-c', script] })
    const none = '0'.repeat(16)
    assert.equal(stdout, `65534\n65534\n65534\nagain\nCapPrm:\t${none}\nCapEff:\t${none}\n`)
    const { stdout: numbers } = await launcher.finish({
      id: 'numbers',
      user: '12345:23456',
      groups: [7, 8],
      args: [
        '-c',
        'id -u; id -g; cut -f2 /proc/self/status | head -0; grep ^Groups /proc/self/status',
      ],
    })
    assert.equal(numbers, '12345\n23456\nGroups:\t7 8 \n')
    const root = await launcher.run({ id: 'root', user: 'root', denyUsers: ['root'] })
    assert.equal(root.kind, 'config')
  },
)

test(
  'a capability that is asked for is there for another user, and only that',
  rootOnly,
  async (t) => {
    const launcher = aLauncher(t)
    const { stdout } = await launcher.finish({
      user: 'nobody',
      caps: ['net_bind_service', 'CAP_CHOWN'],
      command: 'grep',
      args: ['^Cap', '/proc/self/status'],
    })
    assert.deepEqual(
      stdout.match(/[0-9a-f]{16}/g),
      Array.from({ length: 5 }, () => '0000000000000401'),
    )
  },
)

test('the process list shows the name of the task and no spec', options, async (t) => {
  const launcher = aLauncher(t)
  const handle = await launcher.start({
    name: 'web',
    command: 'sleep',
    args: ['60'],
    env: { SECRET: 'x' },
  })
  const shim = readFileSync(`/proc/${handle.shimPid}/cmdline`, 'utf8')
  assert.match(shim, /^reeve-task: web\0*$/)
  assert.equal(readFileSync(`/proc/${handle.shimPid}/comm`, 'utf8'), 'reeve-task\n')
  await launcher.killTree(handle)
})

test('a lost state directory does not keep the shim', options, async (t) => {
  const launcher = aLauncher(t)
  mkdirSync(join(launcher.dir, 'gone'))
  const handle = await launcher.start({
    exitFile: join(launcher.dir, 'gone', 'x'),
    command: 'sleep',
    args: ['60'],
  })
  rmSync(join(launcher.dir, 'gone'), { recursive: true })
  await launcher.killTree(handle)
  await launcher.event((event) => event['event'] === 'ended')
})

test('a program that holds a network joins it, has no rights, and ends', rootOnly, async (t) => {
  const owner = spawn('unshare', ['-n', 'sleep', '60'], { stdio: 'ignore' })
  t.after(() => owner.kill('SIGKILL'))
  const network = `/proc/${owner.pid}/ns/net`
  await until('a network of its own', () => {
    return readlinkSync(network) === readlinkSync('/proc/self/ns/net') ? undefined : true
  })
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM'] as const) {
    const child = spawn(helper, ['pause', network], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    await until('it waits in the network without rights', () => {
      const text = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      const facts = [/^Name:\s+reeve-task/, /^State:\s+S/m, /^CapPrm:\s+0+$/m, /^NoNewPrivs:\s+1$/m]
      const isThere = readlinkSync(`/proc/${child.pid}/ns/net`) === readlinkSync(network)
      return (isThere && facts.every((fact) => fact.test(text))) || undefined
    })
    child.kill(signal)
    assert.deepEqual(await ended, [0, null])
  }
  assert.equal(spawnSync(helper, ['pause', '/dev/null']).status, 3)
})

test('the program says its version, and how it is used', options, async () => {
  const version = spawnSync(helper, ['version'], { encoding: 'utf8' })
  assert.equal(version.stdout, '{"v":1,"program":"reeve-task"}\n')
  for (const args of [[], ['what'], ['run'], ['serve', 'x'], ['pause']]) {
    const { status, stderr } = spawnSync(helper, args, { encoding: 'utf8' })
    assert.equal(status, 64)
    assert.match(stderr, /^usage: /)
  }
})
