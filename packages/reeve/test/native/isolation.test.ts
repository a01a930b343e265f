/** What an isolated task can see and do, tried from inside. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  aLauncher,
  isolated,
  isolation,
  isRunning,
  noRoot,
  type Launcher,
  type Spec,
} from './launcher.ts'

const options = { skip: noRoot, timeout: 300_000 }

/** Runs a script inside and gives what it wrote. */
async function inside(launcher: Launcher, script: string, more: Spec = {}): Promise<string> {
  const id = `t${readdirSync(join(launcher.dir, 'exits')).length}`
  const { stdout, stderr } = await launcher.finish({ ...isolated(launcher, script), id, ...more })
  return stdout + stderr
}

/** With further entries in its root. */
function withEntries(launcher: Launcher, ...entries: readonly Spec[]): Spec {
  return { isolate: isolation(launcher, entries) }
}

test('isolated: no capability, no new privileges, filtered calls', options, async (t) => {
  const launcher = aLauncher(t)
  const status = 'grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:)" /proc/self/status'
  const none = '0'.repeat(16)
  for (const user of ['nobody', 'root']) {
    const text = await inside(launcher, status, { user })
    const uid = user === 'root' ? 0 : 65_534
    assert.match(text, new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'))
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'])
      assert.match(text, new RegExp(`^Cap${set}:\t${none}$`, 'm'))
    assert.match(text, /^NoNewPrivs:\t1$/m)
    assert.match(text, /^Seccomp:\t2$/m)
  }
})

const forbidden = [
  { name: 'write to /usr', script: 'touch /usr/x', says: /Read-only file system/ },
  {
    name: 'write to its root',
    script: 'touch /x',
    says: /Read-only file system|Permission denied/,
  },
  { name: 'write to /etc', script: 'echo > /etc/ld.so.cache', says: /Read-only file system/ },
  { name: 'mount', script: 'mount -t tmpfs none /tmp', says: /denied|permitted|superuser/ },
  {
    name: 'unmount',
    script: 'umount /usr; test -d /usr/bin && echo still there',
    says: /still there/,
  },
  { name: 'make a user namespace', script: 'unshare -U true', says: /not permitted/ },
  { name: 'make a network namespace', script: 'unshare -n true', says: /not permitted/ },
  {
    name: 'read the environment of its init',
    script: 'cat /proc/1/environ',
    says: /Permission denied/,
  },
  { name: 'follow the root of its init', script: 'ls /proc/1/root/', says: /Permission denied/ },
  {
    name: 'read the memory of the machine',
    script:
      'test ! -s /proc/kcore && wc -c < /proc/timer_list; cat /proc/keys | wc -c; echo no >&2',
    says: /^0\n0\n|^0\nno/,
  },
  {
    name: 'change a setting of the kernel',
    script: 'echo 1 > /proc/sys/kernel/panic',
    says: /Read-only file system/,
  },
  {
    name: 'press the magic key',
    script: 'echo h > /proc/sysrq-trigger; cat /proc/sysrq-trigger; echo nothing',
    says: /nothing/,
  },
  { name: 'make a device', script: 'mknod /tmp/d c 1 1', says: /not permitted/ },
  { name: 'see /sys', script: 'ls /sys', says: /No such file/ },
  {
    name: 'become another user by a setuid program',
    script: 'su -c id nobody2 < /dev/null',
    says: /does not exist|not permitted|must be suid|cannot|Permission|failure/i,
  },
]

test('isolated: even root inside cannot do what it must not', options, async (t) => {
  const launcher = aLauncher(t)
  for (const user of ['nobody', 'root'])
    for (const c of forbidden)
      assert.match(await inside(launcher, c.script, { user }), c.says, `${user}: ${c.name}`)
})

/** Calls by number, as a program that does not go through a tool. x86-64 numbers. */
const CALLS = `
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    got = libc.syscall(*args)
    print(name, got if got >= 0 else errno.errorcode.get(ctypes.get_errno(), '?'))
call('mount', 165, b'x', b'/tmp', b'tmpfs', 0, 0)
call('umount2', 166, b'/tmp', 0)
call('pivot_root', 155, b'.', b'.')
call('unshare-user', 272, 0x10000000)
call('setns', 308, 0, 0)
call('ptrace', 101, 0, 0, 0, 0)
call('init_module', 175, 0, 0, 0)
call('finit_module', 313, 0, 0, 0)
call('kexec_load', 246, 0, 0, 0, 0)
call('bpf', 321, 0, 0, 0)
call('io_uring_setup', 425, 1, 0)
call('open_tree', 428, -1, b'/', 0)
call('mount_setattr', 442, -1, b'/', 0, 0, 0)
call('keyctl', 250, 0, 0)
call('userfaultfd', 323, 0)
call('perf_event_open', 298, 0, 0, 0, 0, 0)
call('process_vm_readv', 310, 1, 0, 0, 0, 0, 0)
call('pidfd_getfd', 438, 0, 0, 0)
call('process_madvise', 440, 0, 0, 0, 0, 0)
call('clone3', 435, 0, 0)
call('reboot', 169, 0xfee1dead, 672274793, 0, 0)
call('settimeofday', 164, 0, 0)
call('tiocsti', 16, 0, 0x5412, 0)
for flag in ('0x10000000', '0x00020000', '0x20000000', '0x40000000', '0x08000000', '0x04000000', '0x02000000', '0x00000080'):
    call('clone-' + flag, 56, int(flag, 16) | 17, 0, 0, 0, 0)
call('x32', 0x40000000 + 39)
call('getpid', 39)
import threading
t = threading.Thread(target=lambda: print('thread runs')); t.start(); t.join()
`

test('isolated: calls that could change the machine are refused by number', options, async (t) => {
  if (process.arch !== 'x64' || spawnSync('python3', ['--version']).status !== 0) {
    t.skip('needs python3 on x86-64')
    return
  }
  const launcher = aLauncher(t)
  const text = await inside(launcher, '', { command: 'python3', args: ['-c', CALLS] })
  const got = new Map(
    text
      .trim()
      .split('\n')
      .map((line) => [line.split(' ')[0] ?? '', line.split(' ')[1] ?? '']),
  )
  for (const name of ['clone3', 'x32']) assert.equal(got.get(name), 'ENOSYS', name)
  for (const [name, value] of got) {
    if (['clone3', 'x32', 'getpid', 'thread'].includes(name)) continue
    assert.equal(value, 'EPERM', name)
  }
  assert.equal(got.get('thread'), 'runs')
  assert.equal(got.get('getpid'), '2')
})

/** Opens one socket of each address family that the kernel may know, and prints the answers. */
const FAMILIES = `
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
for family in range(0, 47):
    for kind in (1, 2, 3, 5):
        ctypes.set_errno(0)
        fd = libc.socket(family, kind, 0)
        if fd >= 0: break
    print('socket', family, 'opened' if fd >= 0 else errno.errorcode[ctypes.get_errno()])
    pair = (ctypes.c_int * 2)()
    got = libc.socketpair(family, 1, 0, pair)
    print('pair', family, 'opened' if got >= 0 else errno.errorcode[ctypes.get_errno()])
`
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK] = [
  1, 2, 10, 16, 17, 38, 40,
]

test('isolated: only ordinary address families have sockets', options, async (t) => {
  if (spawnSync('python3', ['--version']).status !== 0) {
    t.skip('needs python3')
    return
  }
  const launcher = aLauncher(t)
  for (const user of ['nobody', 'root']) {
    const text = await inside(launcher, '', { user, command: 'python3', args: ['-c', FAMILIES] })
    const got = new Map(
      text
        .trim()
        .split('\n')
        .map((line) => [line.replace(/ \S+$/, ''), line.split(' ')[2] ?? '']),
    )
    for (const family of [AF_UNIX, AF_INET, AF_NETLINK])
      assert.equal(got.get(`socket ${family}`), 'opened', `family ${family} as ${user}`)
    assert.equal(got.get(`pair ${AF_UNIX}`), 'opened')
    assert.equal(got.get(`socket ${AF_PACKET}`), 'EPERM')
    for (const family of [AF_ALG, AF_VSOCK])
      assert.equal(got.get(`socket ${family}`), 'EAFNOSUPPORT', `family ${family} as ${user}`)
    const allowed = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET]
    for (const [call, value] of got)
      if (!allowed.includes(Number(call.split(' ')[1]))) assert.equal(value, 'EAFNOSUPPORT', call)
  }
})

test(
  'isolated: it sees itself and its init, a host name and nothing of the host',
  options,
  async (t) => {
    const launcher = aLauncher(t)
    const text = await inside(
      launcher,
      'hostname; ls -d /proc/[0-9]* | wc -l; ls /; ls /dev; cat /proc/self/cgroup | grep -v ":/$" | wc -l',
    )
    const lines = text.trim().split('\n')
    assert.equal(lines[0], 'task-host')
    assert.ok(Number(lines[1]) <= 5)
    assert.equal(lines.at(-1), '0')
    const listed = lines.slice(2, -1)
    for (const name of ['home', 'root', 'work', 'var', 'opt', 'sys'])
      assert.ok(!listed.includes(name), name)
    for (const name of [
      'null',
      'zero',
      'full',
      'random',
      'urandom',
      'tty',
      'pts',
      'shm',
      'ptmx',
      'fd',
    ])
      assert.ok(listed.includes(name), name)
    for (const name of ['sda', 'vda', 'kvm', 'mem', 'kmsg']) assert.ok(!listed.includes(name), name)
  },
)

test('isolated: binds are writable or not, executable or not, as said', options, async (t) => {
  const launcher = aLauncher(t)
  const local = join(launcher.dir, 'local')
  const fixed = join(launcher.dir, 'fixed')
  for (const folder of [local, fixed]) {
    mkdirSync(folder)
    chmodSync(folder, 0o777)
    writeFileSync(join(folder, 'program'), '#!/bin/sh\necho ran\n', { mode: 0o755 })
  }
  const more = withEntries(
    launcher,
    { kind: 'bind', from: local, to: '/local', noExec: true },
    { kind: 'bind', from: fixed, to: '/deep/er/fixed', readOnly: true },
    { kind: 'file', to: '/etc/hosts', content: '127.0.0.1 localhost\n', mode: 0o644 },
    { kind: 'dir', to: '/srv', mode: 0o777 },
    { kind: 'link', to: '/opt', target: '/deep/er' },
    { kind: 'bind', from: '/no/such', to: '/none', optional: true },
  )
  const script =
    'echo text > /local/new; /local/program; /deep/er/fixed/program; echo x > /deep/er/fixed/new; cat /etc/hosts; ls -ld /srv | cut -c1-10; readlink /opt; ls /none'
  const text = await inside(launcher, script, more)
  assert.equal(readFileSync(join(local, 'new'), 'utf8'), 'text\n')
  assert.equal(statSync(join(local, 'new')).uid, 65_534)
  assert.equal(existsSync(join(fixed, 'new')), false)
  assert.match(text, /^ran\n127\.0\.0\.1 localhost\ndrwxrwxrwx\n\/deep\/er\n/)
  assert.match(text, /\/local\/program: Permission denied/)
  assert.match(text, /fixed\/new: Read-only file system/)
  assert.match(text, /\/none.*No such file/)
})

test('isolated: a link planted in a bind cannot move a later mount outside', options, async (t) => {
  const launcher = aLauncher(t)
  const local = join(launcher.dir, 'local')
  const victim = join(launcher.dir, 'victim')
  const volume = join(launcher.dir, 'volume')
  for (const folder of [local, victim, volume]) mkdirSync(folder)
  writeFileSync(join(volume, 'mark'), 'volume')
  symlinkSync(victim, join(local, 'data'))
  symlinkSync('../../../../../..' + victim, join(local, 'up'))
  for (const to of ['/local/data', '/local/up/made']) {
    const entries = [
      { kind: 'bind', from: local, to: '/local' },
      { kind: 'bind', from: volume, to },
    ]
    await launcher.run({
      id: to.replaceAll('/', '-'),
      ...isolated(launcher, 'true', withEntries(launcher, ...entries)),
    })
  }
  assert.deepEqual(readdirSync(victim), [])
})

const badRoots = [
  {
    name: 'a missing source',
    entries: [{ kind: 'bind', from: '/no/such', to: '/x' }],
    kind: 'unstartable',
  },
  { name: 'an unknown kind', entries: [{ kind: 'volume', to: '/x' }], kind: 'config' },
  { name: 'the root itself as target', entries: [{ kind: 'tmpfs', to: '/' }], kind: 'config' },
  { name: 'a target that climbs', entries: [{ kind: 'dir', to: '/a/../../b' }], kind: 'config' },
  {
    name: 'a member of another kind',
    entries: [{ kind: 'dir', to: '/a', from: '/b' }],
    kind: 'config',
  },
  { name: 'a missing member', entries: [{ kind: 'file', to: '/a' }], kind: 'config' },
  {
    name: 'a member that is null',
    entries: [{ kind: 'file', to: '/a', content: null }],
    kind: 'config',
  },
  {
    name: 'a file over a file',
    entries: [
      { kind: 'file', to: '/f', content: '' },
      { kind: 'file', to: '/f', content: '' },
    ],
    kind: 'unstartable',
  },
  {
    name: 'too much content',
    entries: [{ kind: 'file', to: '/f', content: 'x'.repeat(70_000) }],
    kind: 'config',
  },
]

test(
  'isolated: a root that cannot be built is refused, and nothing stays mounted',
  options,
  async (t) => {
    const launcher = aLauncher(t)
    // Only its own: other tests mount and unmount on the same machine at the same time.
    const mounts = () =>
      readFileSync('/proc/self/mounts', 'utf8')
        .split('\n')
        .filter((line) => line.includes(launcher.dir))
    const before = mounts()
    for (const c of badRoots) {
      const answer = await launcher.run({
        id: 'x',
        ...isolated(launcher, 'true', { isolate: isolation(launcher, c.entries) }),
      })
      assert.equal(answer.kind, c.kind, `${c.name}: ${answer.message}`)
    }
    await inside(launcher, 'true')
    assert.deepEqual(mounts(), before)
    assert.deepEqual(readdirSync(join(launcher.dir, 'root')), [])
  },
)

test(
  'isolated: without a pid namespace the task has no init and is killed with all it started',
  options,
  async (t) => {
    const launcher = aLauncher(t)
    const isolate = { ...isolation(launcher), pidNamespace: false, ipcNamespace: false }
    const handle = await launcher.start({
      ...isolated(launcher, 'setsid sleep 300 & echo $$ $!; wait'),
      isolate,
      logs: launcher.logs('task'),
    })
    assert.equal(handle.pid, handle.taskPid)
    while (!launcher.log('task', 'stdout', 0).endsWith('\n')) await new Promise(setImmediate)
    const numbers = launcher.log('task', 'stdout', 0).trim().split(' ').map(Number)
    assert.ok(numbers.every(isRunning))
    assert.equal((await launcher.killTree(handle)).ok, true)
    assert.deepEqual(numbers.filter(isRunning), [])
  },
)

test('isolated: exit codes and signals come through the init unchanged', options, async (t) => {
  const launcher = aLauncher(t)
  for (const { script, wanted } of [
    { script: 'exit 0', wanted: [0, 0] },
    { script: 'exit 137', wanted: [137, 0] },
    { script: 'kill -9 $$', wanted: [137, 9] },
    { script: 'kill -15 $$', wanted: [143, 15] },
    { script: 'kill -9 1; sleep 1; exit 3', wanted: [3, 0] },
  ]) {
    const { exit } = await launcher.finish({
      ...isolated(launcher, script),
      id: script.replaceAll(/\W/g, '-'),
    })
    assert.deepEqual([exit.code, exit.signal], wanted, script)
  }
})

test('isolated: an init that is killed from outside is a death by SIGKILL', options, async (t) => {
  const launcher = aLauncher(t)
  const { pid, startTime } = await launcher.start(isolated(launcher, 'exec sleep 300'))
  await launcher.ask({ op: 'kill', pid, startTime, signal: 9 })
  const exit = await launcher.exit()
  assert.deepEqual([exit.code, exit.signal, exit.killed], [137, 9, false])
})

test('isolated: a command of the host that is not in the root is not found', options, async (t) => {
  const launcher = aLauncher(t)
  const file = join(launcher.dir, 'program')
  writeFileSync(file, '#!/bin/sh\n', { mode: 0o755 })
  const answer = await launcher.run({ ...isolated(launcher, ''), command: file })
  assert.deepEqual([answer.ok, answer.kind], [false, 'unstartable'])
})
