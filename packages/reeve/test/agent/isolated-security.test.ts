/** What each tried, and what must be seen. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { openSync, closeSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import {
  noIsolation,
  RealCluster,
  sleepers,
  WITHIN_MS,
  type AllocationRow,
} from './real-cluster.ts'

const STORY_MS_MAX = 300_000

/** By what each of them proves. They have jobs of their own on one node. */
const stories = new Map<string, (cluster: RealCluster) => Promise<void>>()
const PIDS_MAX = 40
const AGENT_SECRET = 'secret-in-the-environment-of-the-agent'

interface Attempt {
  readonly name: string
  readonly tried: string
  /** What its output must show. */
  readonly seen: RegExp
  readonly neverSeen?: RegExp
}

/** System calls by number, as a program makes them that goes through no tool. x86-64 only. */
function calls(...list: readonly (readonly [string, ...(number | string)[]])[]): string {
  const lines = list.map(([name, ...args]) => {
    return `$r = syscall(${args.join(', ')}); print "${name} ", $r < 0 ? "refused: $!" : "DONE", "\\n";`
  })
  return `perl -e '${lines.join(' ')}'`
}

const attempts = (directory: string): readonly Attempt[] => [
  {
    name: 'write to /usr',
    tried: 'touch /usr/x; echo x > /usr/bin/true',
    seen: /Read-only.*Read-only/s,
  },
  { name: 'write to /etc', tried: 'echo x > /etc/passwd', seen: /Read-only|denied/ },
  { name: 'write to its root', tried: 'mkdir /new', seen: /Read-only|denied/ },
  {
    name: 'write over its own log',
    tried: 'rm -f /alloc/logs/work.stdout.0; echo x > /alloc/logs/more',
    seen: /Read-only/,
  },
  {
    name: 'mount',
    tried: 'mount -t tmpfs none /tmp; mount --bind /usr /tmp; mount -o remount,rw /usr',
    seen: /(denied|permitted|superuser)/,
  },
  {
    name: 'unmount',
    tried: 'umount /usr; umount -l /proc; ls /usr/bin/env && echo still there',
    seen: /still there/,
  },
  {
    name: 'make namespaces',
    tried: 'for n in U n m p i u C; do unshare -$n true && echo MADE $n; done; echo over',
    seen: /not permitted.*over/s,
    neverSeen: /MADE/,
  },
  {
    name: 'load, unload a module; restart the machine; set its clock',
    tried: calls(
      ['init_module', 175, 0, 0, 0],
      ['finit_module', 313, 0, 0, 0],
      ['delete_module', 176, 0, 0],
      ['kexec_load', 246, 0, 0, 0, 0],
      ['reboot', 169, 0xfee1dead, 672274793, 0, 0],
      ['settimeofday', 164, 0, 0],
      ['bpf', 321, 0, 0, 0],
    ),
    seen: /(refused: Operation not permitted\n.*){7}/s,
    neverSeen: /DONE/,
  },
  {
    name: 'trace its init, or read it through /proc',
    tried: `${calls(['ptrace', 101, 16, 1, 0, 0], ['process_vm_readv', 310, 1, 0, 0, 0, 0, 0])}; cat /proc/1/environ /proc/1/maps /proc/1/mem; ls /proc/1/root/ /proc/1/fd; readlink /proc/1/exe; echo over`,
    seen: /refused.*over/s,
    neverSeen: /DONE|reeve-task|\/work\//,
  },
  {
    name: 'see processes, files and devices of the machine',
    tried: `ls ${directory} /root /home /work /sys /var; ls /dev; cat /proc/[0-9]*/cmdline | tr '\\0' ' '`,
    seen: /cannot access.*null/s,
    neverSeen: /reeve\.ts|sda|vda|kmsg|node\.json/,
  },
  {
    name: 'make a device',
    tried: 'mknod /tmp/d c 1 1; mknod /local/d b 8 0; ls /tmp /local',
    seen: /not permitted/,
  },
  {
    name: 'change the kernel',
    tried:
      'echo 1 > /proc/sys/kernel/panic; echo h > /proc/sysrq-trigger; head -c 10 /proc/kcore | wc -c',
    seen: /Read-only/,
  },
  {
    name: 'become root',
    tried:
      'su -c id </dev/null; id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp:)" /proc/self/status',
    seen: /\b65534\n.*CapEff:\t0{16}\nCapBnd:\t0{16}\nNoNewPrivs:\t1\nSeccomp:\t2/s,
    neverSeen: /uid=0/,
  },
  {
    name: 'find the environment of the agent',
    tried: 'env; cat /proc/*/environ | tr "\\0" "\\n"; echo over',
    seen: /REEVE_TASK_NAME=work.*over/s,
    neverSeen: new RegExp(`${AGENT_SECRET}|REEVE_JOIN_TOKEN|NODE_COMPILE_CACHE`),
  },
  {
    name: 'find a descriptor of the agent',
    tried: 'ls -l /proc/self/fd; for n in 3 4 5 6 7 8 9; do cat <&$n; done; echo over',
    seen: /over/,
    neverSeen: /of-the-agent/,
  },
  {
    name: 'open a socket to the hypervisor or to the ciphers of the kernel',
    tried: calls(['vsock', 41, 40, 1, 0], ['alg', 41, 38, 5, 0]),
    seen: /vsock refused.*alg refused/s,
    neverSeen: /DONE/,
  },
  {
    name: 'fill the machine with processes',
    tried: `i=0; while [ $i -lt 100 ]; do i=$((i+1)); sleep 6001.${process.pid} & done`,
    seen: /[Cc]annot fork|Resource temporarily unavailable/,
  },
  {
    name: 'signal processes outside',
    tried: `kill -0 ${process.pid} || echo no such; (kill -9 -1); echo over`,
    seen: /no such/,
  },
]

async function outputOf(cluster: RealCluster, { ID }: AllocationRow): Promise<string> {
  const texts = ['stdout', 'stderr'].map((name) =>
    readFile(cluster.path(ID, `alloc/logs/work.${name}.0`), 'utf8'),
  )
  const [stdout, stderr] = await Promise.all(texts)
  return `${stderr}\n--\n${stdout}`
}

stories.set('isolated tasks: nothing that they must not do succeeds', async (cluster) => {
  const cases = attempts(cluster.directory)
  const TaskGroups = cases.map(({ tried }, n) => aGroup(`g${n}`, tried))
  await cluster.run({ ID: 'attempts', Type: 'batch', TaskGroups })
  const rows = await cluster.allocations(
    'attempts',
    'all ends',
    (all) =>
      all.length === cases.length &&
      all.every(({ ClientStatus }) => ClientStatus === 'complete' || ClientStatus === 'failed'),
  )
  for (const row of rows) {
    const attempt = cases[Number(row.TaskGroup.slice(1))]
    assert.ok(attempt !== undefined)
    const output = await outputOf(cluster, row)
    assert.match(output, attempt.seen, attempt.name)
    if (attempt.neverSeen !== undefined)
      assert.doesNotMatch(output, attempt.neverSeen, attempt.name)
  }
  assert.deepEqual(sleepers(`6001.${process.pid}`), [])
  assert.equal(cluster.node.child.exitCode, null)
})

function aGroup(name: string, script: string) {
  return {
    Name: name,
    RestartPolicy: { Attempts: 0, Mode: 'fail' },
    ReschedulePolicy: { Attempts: 0, Unlimited: false },
    EphemeralDisk: { SizeMB: 10 },
    Tasks: [aTask('work', script)],
  }
}

function aTask(name: string, script: string) {
  return {
    Name: name,
    Driver: 'exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    Env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    Resources: { CPU: 1, MemoryMB: 64 },
    LogConfig: { MaxFiles: 2, MaxFileSizeMB: 1 },
    KillTimeout: 1e9,
  }
}

stories.set(
  'isolated tasks: the secrets of another task of the same allocation are out of reach',
  async (cluster) => {
    const holds = 'echo top-secret > /secrets/key; touch /alloc/data/ready; exec sleep 1000'
    const spies = `while ! [ -e /alloc/data/ready ]; do sleep 0.1; done
cat /secrets/key /alloc/../secrets/key /alloc/../holder/secrets/key /proc/*/root/secrets/key
cat ${cluster.nodeDirectory}/alloc/*/holder/secrets/key
grep -rs top-secret /alloc /local /tmp /secrets /dev/shm; echo over; exec sleep 1000`
    const group = { ...aGroup('pair', ''), Tasks: [aTask('holder', holds), aTask('spy', spies)] }
    await cluster.run({ ID: 'pair', TaskGroups: [group] })
    // An allocation runs as soon as one of its tasks does; a task has logs when it runs itself.
    const [pair] = await cluster.allocations(
      'pair',
      'the spy to run',
      ([one]) => one?.TaskStates?.['spy']?.State === 'running',
    )
    const ID = pair?.ID ?? assert.fail('there is no allocation')
    await until(
      'the spy to be over',
      async () => ((await cluster.log(ID, 'spy')).includes('over') ? true : undefined),
      WITHIN_MS,
    )
    assert.equal(await cluster.log(ID, 'spy'), 'over\n')
    // Nor through the server, by whatever way.
    for (const path of ['holder/secrets/key', 'holder/local/../secrets/key', 'holder/private']) {
      const response = await fetch(`${cluster.address}/v1/client/fs/cat/${ID}?path=${path}`)
      assert.equal(response.status, 403, path)
    }
    const { mode } = await stat(cluster.path(ID, 'holder/secrets'))
    assert.equal(mode & 0o777, 0o700)
  },
)

/** A user of the machine who has nothing to do with any task. */
const STRANGER = { uid: 4_242, gid: 4_242 }

/** What becomes of a program that a task has made set-uid when a stranger runs it. */
function runAsStranger(path: string): string {
  const { error, stdout, stderr } = spawnSync(path, ['-u'], { ...STRANGER, encoding: 'utf8' })
  return error === undefined ? `${stdout}${stderr}`.trim() : error.message
}

stories.set(
  'isolated tasks: a set-uid file of a task is no way to its user for others on the node',
  async (cluster) => {
    const plants =
      'cp /usr/bin/id /alloc/data/id && chmod 6755 /alloc/data/id && cp -p /alloc/data/id /local/id && exec sleep 1000'
    const keeps = { ...aTask('open', 'exec sleep 1000'), Driver: 'raw_exec', User: 'nobody' }
    await cluster.run({ ID: 'planter', TaskGroups: [aGroup('g0', plants)] })
    await cluster.run({ ID: 'plain', TaskGroups: [{ ...aGroup('g0', ''), Tasks: [keeps] }] })
    const { ID } = await cluster.allocation('planter', 'running')
    for (const name of ['alloc/data/id', 'work/local/id']) {
      const path = cluster.path(ID, name)
      await until('the file', async () => {
        const found = await stat(path).catch(() => undefined)
        return found !== undefined && (found.mode & 0o6000) === 0o6000 ? true : undefined
      })
      assert.match(runAsStranger(path), /EACCES/, name)
    }
    // A task without isolation still reaches its own directories as another user.
    const plain = await cluster.allocation('plain', 'running')
    assert.equal((await stat(cluster.path(plain.ID, ''))).mode & 0o777, 0o711)
  },
)

stories.set(
  'isolated tasks: a flood of output keeps to its files, and the task is not held up',
  async (cluster) => {
    const MEGABYTES = 60
    const flood = `head -c ${MEGABYTES << 20} /dev/zero | tr '\\0' y; echo; echo the last line`
    await cluster.run({ ID: 'flood', Type: 'batch', TaskGroups: [aGroup('g0', flood)] })
    const { ID } = await cluster.allocation('flood', 'complete')
    const logs = cluster.path(ID, 'alloc/logs')
    const names = (await readdir(logs)).filter((name) => name.startsWith('work.stdout')).toSorted()
    assert.equal(names.length, 2)
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(logs, name))).size))
    for (const size of sizes) assert.ok(size <= 1 << 20, String(size))
    assert.ok((await cluster.log(ID, 'work')).endsWith('\nthe last line\n'))
  },
)

test('isolated tasks on a real node', { skip: noIsolation }, async (t) => {
  const path = join(await temporaryDirectory(t), 'file')
  await writeFile(path, 'a file of-the-agent\n')
  const descriptor = openSync(path, 'r')
  t.after(() => closeSync(descriptor))
  const settings = `plugin "exec" {
  config {
    pids_limit = ${PIDS_MAX}
  }
}
plugin "raw_exec" {
  config {
    enabled = true
  }
}
`
  const cluster = await RealCluster.open(t, settings, {
    environment: { AGENT_SECRET },
    descriptors: [descriptor, descriptor],
  })
  for (const [name, story] of stories)
    await t.test(name, { timeout: STORY_MS_MAX }, () => story(cluster))
})
