import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid, kill } from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import { until } from '../../../test/build/until.ts'
import { shellTaskDriverSuite, written } from '../../../test/suites/shell-task-driver.ts'
import { taskDriverSuite } from '../../../test/suites/task-driver.ts'
import {
  readHostAccounts,
  type Recovery,
  type RunningTask,
  type TaskDriver,
  type TaskHandle,
  type TaskLaunch,
} from '../../agent/index.ts'
import { ExecDriver, type ExecPolicy } from '../exec/exec-driver.ts'
import { RawExecDriver } from '../raw-exec/raw-exec-driver.ts'
import { readProcess } from '../proc/processes.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { shimCgroups } from './cgroup.ts'
import { NativeSupervisor } from './native-supervisor.ts'
import { readHandleRecord } from './supervisor-records.ts'

const program = join(import.meta.dirname, '../../../../../node_modules/.cache/reeve/reeve-task')

const policy: ExecPolicy = {
  allowCaps: DEFAULT_CAPS,
  denyUsers: ['root', '0'],
  denyGroups: ['shadow', 'disk'],
  allowGroups: [],
  allowHostNamespaces: false,
  isCpuHard: false,
  pidsMax: 4_096,
  chrootEnv: undefined,
}

/** What this machine lacks for the whole file; empty: nothing. */
async function trouble(): Promise<string> {
  if (!existsSync(program)) return 'the native helper was not built'
  if (getuid?.() !== 0) return 'only root may isolate tasks'
  const stateDir = await mkdtemp(join(tmpdir(), 'reeve-test-'))
  const helper = new NativeSupervisor({ program, stateDir, clock: systemClock })
  const facts = await helper.capabilities().catch(() => undefined)
  await helper.close()
  await rm(stateDir, { recursive: true, force: true })
  return facts === undefined ? 'the native helper does not run here' : facts.isolationProblem
}

type Kind = 'exec' | 'raw_exec'

interface NativeBench {
  readonly bench: ProgramBench
  readonly stateDir: string
  readonly helper: NativeSupervisor
}

function makeDriver(kind: Kind, helper: NativeSupervisor, stateDir: string): TaskDriver {
  const clock = systemClock
  return kind === 'exec'
    ? new ExecDriver({ clock, helper, policy, stateDir })
    : new RawExecDriver({ clock, helper })
}

async function openBench(t: TestContext, kind: Kind): Promise<NativeBench> {
  let found: Pick<NativeBench, 'helper' | 'stateDir'> | undefined
  const bench = await ProgramBench.open(t, (dir) => {
    const stateDir = join(dir, 'state')
    const helper = new NativeSupervisor({ program, stateDir, clock: systemClock })
    found = { helper, stateDir }
    return {
      driver: makeDriver(kind, helper, stateDir),
      config: (script) => ({ command: 'sh', args: ['-c', script] }),
      close: () => helper.close(),
    }
  })
  assert.ok(found !== undefined)
  await chown(join(bench.dir, 'alloc/data'), 65_534, 65_534)
  return { bench, ...found }
}

async function shimOf({ handle }: RunningTask): Promise<number> {
  const record = await readHandleRecord(join(handle.dir, 'handle.json'))
  return record?.shim.pid ?? 0
}

/** What may become of the records of a start while no agent is there. */
const damages: readonly {
  readonly name: string
  readonly damage: (handle: TaskHandle) => Promise<void>
  readonly wanted: Recovery['kind']
}[] = [
  {
    name: 'is damaged',
    damage: ({ dir }) => writeFile(join(dir, 'handle.json'), '{'),
    wanted: 'lost',
  },
  {
    name: 'does not say how it was started',
    damage: ({ dir }) => rm(join(dir, 'spec.json')),
    wanted: 'lost',
  },
  {
    name: 'is gone',
    damage: ({ dir }) => rm(dir, { recursive: true }),
    wanted: 'never-started',
  },
]

const why = await trouble()
if (why === '') {
  for (const kind of ['raw_exec', 'exec'] as const) suitesOf(kind)
  ownTests()
} else test('tasks under the native helper', { skip: why }, () => undefined)

function suitesOf(kind: Kind): void {
  taskDriverSuite(`${kind} by the helper`, async (t) => {
    const { bench, stateDir } = await openBench(t, kind)
    return {
      driver: bench.driver,
      reopen: () => {
        const next = new NativeSupervisor({ program, stateDir, clock: systemClock })
        t.after(() => next.close())
        return makeDriver(kind, next, stateDir)
      },
      launch: (behaviour) => bench.launch(behaviour),
      wait: (promise) => promise,
      ready: (task) => bench.ready(task),
    }
  })

  shellTaskDriverSuite(
    `${kind} by the helper`,
    async (t) => {
      const { bench } = await openBench(t, kind)
      return {
        driver: bench.driver,
        script: (text, fields) => bench.script(text, fields),
        killSupervisor: async (task) => void kill(await shimOf(task), 'SIGKILL'),
      }
    },
    kind === 'raw_exec' ? { limits: 'plain programs have no limits' } : {},
  )
}

function ownTests(): void {
  test('the launcher goes where its shims belong, and they are born there', async (t) => {
    const { bench, stateDir, helper } = await openBench(t, 'raw_exec')
    const { layout } = await helper.capabilities()
    const task = await bench.driver.start(bench.script('sleep 300'))
    const launcher = JSON.parse(await readFile(join(stateDir, 'launcher.json'), 'utf8'))
    const shimGroupsOf = async (pid: number) =>
      (await readFile(`/proc/${pid}/cgroup`, 'utf8'))
        .split('\n')
        .filter((one) => one.endsWith('shims'))
    const groups = await shimGroupsOf(launcher.pid)
    // As many as this machine has: none where it has no groups to write to.
    assert.equal(groups.length, shimCgroups(layout).length)
    assert.deepEqual(await shimGroupsOf(await shimOf(task)), groups)
    await task.stop({ signal: 'SIGKILL', timeoutMs: 0 })
  })

  test('exec: a node reports its isolation after a trial task', async (t) => {
    const { bench } = await openBench(t, 'exec')
    const { attributes, healthy } = await bench.driver.fingerprint()
    assert.equal(healthy, true)
    assert.equal(attributes['driver.exec.helper'], '1')
    assert.match(attributes['driver.exec.cgroup'] ?? '', /^(v1|v2|hybrid|none)$/)
  })

  const inside = [
    { name: 'is nobody', script: 'id -u; id -g', says: '65534\n65534\n' },
    { name: 'has no capabilities', script: 'grep CapEff /proc/self/status', says: /0{16}\n$/ },
    {
      name: 'sees only its own processes',
      script: 'ls -d /proc/[0-9]* | wc -l',
      says: /^[1-4]\n$/,
    },
    {
      name: 'cannot write programs of the machine',
      script: 'touch /usr/x 2>/dev/null || echo no',
      says: 'no\n',
    },
    { name: 'sees no home of anybody', script: 'ls /root /home 2>&1 | wc -l', says: /^[12]\n$/ },
    {
      name: 'has its directories where they belong',
      script: 'touch /local/a /tmp/b /secrets/c /alloc/data/d && echo yes',
      says: 'yes\n',
    },
    {
      name: 'cannot change its logs',
      script: 'touch /alloc/logs/x 2>/dev/null || echo no',
      says: 'no\n',
    },
    {
      name: 'sees the certificates that it may trust, and no private key beside them',
      script:
        'ls /etc/ssl/certs >/dev/null && echo certs; ls -d /etc/ssl/private /etc/pki/tls/private /etc/pki/nssdb 2>/dev/null; echo over',
      says: 'certs\nover\n',
    },
    { name: 'has a name in the list of users', script: 'id -un', says: 'nobody\n' },
    {
      name: 'is asked by no other name than that of the machine',
      script: 'hostname',
      says: /\S\n$/,
    },
    {
      name: 'writes to its own output by name',
      script: 'echo out >/dev/stdout; echo err >/dev/stderr',
      says: 'out\n',
    },
  ]
  for (const c of inside) {
    test(`exec: a task ${c.name}`, async (t) => {
      const { bench } = await openBench(t, 'exec')
      const task = await bench.driver.start(bench.script(c.script))
      await task.exited
      const output = await written(bench.logs.stdoutPrefix)
      if (typeof c.says === 'string') assert.equal(output, c.says)
      else assert.match(output, c.says)
      await task.destroyRecords()
    })
  }

  const refused = [
    { name: 'root', fields: { user: 'root' }, message: /"root" is not allowed/ },
    { name: 'user 0', fields: { user: '0:0' }, message: /is not allowed/ },
    { name: 'the group of root', fields: { user: '65534:0' }, message: /^group 0 is not a group/ },
    {
      name: 'a group of somebody else',
      fields: { user: '65534:42' },
      message: /^group 42 is not a group of user 65534 .*allow_groups/,
    },
    {
      name: 'becoming any user',
      config: { cap_add: ['setuid', 'setgid'] },
      message: /^cap_add: setgid and setuid would let the task become any user or group/,
    },
    {
      name: 'a capability outside the list',
      config: { cap_add: ['sys_admin'] },
      message: /does not allow sys_admin/,
    },
    { name: 'the processes of the machine', config: { pid_mode: 'host' }, message: /not allowed/ },
    { name: 'a relative work_dir', config: { work_dir: 'x' }, message: /^work_dir must begin/ },
  ]
  for (const c of refused) {
    test(`exec: ${c.name} is refused`, async (t) => {
      const { bench } = await openBench(t, 'exec')
      const launch = bench.script('true', c.fields ?? {})
      const config = { ...launch.config, ...c.config }
      await assert.rejects(bench.driver.start({ ...launch, config }), {
        kind: 'task-config',
        message: c.message,
      })
    })
  }

  test('exec: a task and a session beside it lack a denied group of their account', async (t) => {
    const found = await memberOfSomeGroup()
    if (found === undefined) return t.skip('no account of this machine has a supplementary group')
    const { bench, helper, stateDir } = await openBench(t, 'exec')
    const groupsWhere = (denyGroups: readonly string[]) => {
      const options = { clock: systemClock, helper, stateDir, policy: { ...policy, denyGroups } }
      return groupsSeen(new ExecDriver(options), bench.script('sleep 300', { user: found.user }))
    }
    const group = String(found.gid)
    assert.deepEqual(
      (await groupsWhere([group])).filter((one) => one === group),
      [],
    )
    // Of the task and of each command of the session.
    assert.ok((await groupsWhere([])).filter((one) => one === group).length > 1)
  })

  test('exec: a requested and allowed capability is granted', async (t) => {
    const { bench } = await openBench(t, 'exec')
    const launch = bench.script('grep CapEff /proc/self/status')
    const config = { ...launch.config, cap_add: ['NET_BIND_SERVICE'] }
    const task = await bench.driver.start({ ...launch, config })
    await task.exited
    assert.match(await written(bench.logs.stdoutPrefix), /0000000000000400\n$/)
    await task.destroyRecords()
  })

  for (const kind of ['raw_exec', 'exec'] as const)
    test(`${kind}: a task does not inherit the protection of its agent from the OOM killer`, async (t) => {
      const score = writeFile('/proc/self/oom_score_adj', '-500')
      const isAllowed = await score.then(() => true).catch(() => false)
      if (!isAllowed) return t.skip('this needs CAP_SYS_RESOURCE')
      t.after(() => writeFile('/proc/self/oom_score_adj', '0'))
      const { bench } = await openBench(t, kind)
      const task = await bench.driver.start(bench.script('cat /proc/self/oom_score_adj'))
      await task.exited
      assert.equal(await written(bench.logs.stdoutPrefix), '0\n')
      await task.destroyRecords()
    })

  test('a launcher that dies takes no task with it, and the next one is started', async (t) => {
    const { bench, stateDir } = await openBench(t, 'exec')
    const task = await bench.driver.start(bench.launch({ kind: 'runs' }))
    await bench.ready(task)
    const { pid } = JSON.parse(await readFile(join(stateDir, 'launcher.json'), 'utf8'))
    kill(pid, 'SIGKILL')
    await until('its end', () => (readProcess(pid) === undefined ? true : undefined))
    await task.stop({ signal: 'SIGTERM', timeoutMs: 5_000 })
    assert.equal((await task.exited).exitCode, 0)
    const again = await bench.driver.start(bench.launch({ kind: 'exits', code: 5 }))
    assert.equal((await again.exited).exitCode, 5)
  })

  test('fifty tasks at once end with their own codes, and leave no groups', async (t) => {
    const { bench, helper } = await openBench(t, 'exec')
    const codes = Array.from({ length: 50 }, (_, n) => n)
    const found = await Promise.all(
      codes.map(async (code) => {
        const task = await bench.driver.start(bench.script(`exit ${code}`))
        const { exitCode } = await task.exited
        await task.destroyRecords()
        return exitCode
      }),
    )
    assert.deepEqual(found, codes)
    const ours = helper.cgroupNameOf(bench.script('').handle).replace(/-\d+$/, '')
    assert.deepEqual(await groupsOf(helper, ours), [])
  })

  for (const kind of ['raw_exec', 'exec'] as const) {
    test(`${kind}: a task without a record is killed as an orphan, a known one is not`, async (t) => {
      const { bench, stateDir } = await openBench(t, kind)
      const script = '(setsid sleep 1000 &); echo on; sleep 1000'
      const [kept, lost] = [bench.script(script), bench.script(script)]
      const [going, ended] = [await bench.driver.start(kept), await bench.driver.start(lost)]
      const next = new NativeSupervisor({ program, stateDir, clock: systemClock })
      const stranger = new NativeSupervisor({ program, stateDir: bench.dir, clock: systemClock })
      t.after(() => Promise.all([next.close(), stranger.close()]))
      await stranger.killOrphans(new Set())
      await next.killOrphans(new Set([kept.handle.id]))
      assert.equal((await ended.exited).signal, 9)
      assert.deepEqual(await groupsOf(next, next.cgroupNameOf(lost.handle)), [])
      assert.notDeepEqual(await groupsOf(next, next.cgroupNameOf(kept.handle)), [])
      await going.stop({ signal: 'SIGTERM', timeoutMs: 0 })
    })

    for (const { name, damage, wanted } of damages) {
      test(`${kind}: nothing of a task runs on whose record ${name}`, async (t) => {
        const { bench, helper, stateDir } = await openBench(t, kind)
        const launch = bench.script('(setsid sleep 1000 &); echo on; sleep 1000')
        const { handle } = launch
        const task = await bench.driver.start(launch)
        await helper.close()
        await damage(handle)
        const next = new NativeSupervisor({ program, stateDir, clock: systemClock })
        t.after(() => next.close())
        const { kind: outcome } = await makeDriver(kind, next, stateDir).recover(handle)
        assert.equal(outcome, wanted)
        assert.equal((await task.exited).signal, 9)
        await until('its groups to go', async () => {
          return (await groupsOf(next, next.cgroupNameOf(handle))).length === 0 || undefined
        })
        await task.destroyRecords()
      })
    }
  }
}

/** The supplementary groups of all processes of a task, seen by a session beside it. */
async function groupsSeen(driver: TaskDriver, launch: TaskLaunch): Promise<readonly string[]> {
  const task = await driver.start(launch)
  const command = ['sh', '-c', 'cat /proc/[0-9]*/status | grep ^Groups']
  const session = await task.exec({ command, tty: undefined })
  const lines = (await textOf(session.stdout)).trim().split('\n')
  await task.stop({ signal: 'SIGKILL', timeoutMs: 0 })
  await task.destroyRecords()
  return lines.flatMap((line) => line.replace('Groups:', '').trim().split(' '))
}

/** An account other than root that the machine gives a supplementary group. */
async function memberOfSomeGroup(): Promise<{ user: string; gid: number } | undefined> {
  const { users, groups } = await readHostAccounts()
  const ordinary = new Set(
    users.filter(({ uid, gid }) => uid > 0 && gid > 0).map(({ name }) => name),
  )
  for (const { gid, members } of groups) {
    const user = members.find((name) => ordinary.has(name))
    if (user !== undefined && gid > 0) return { user, gid }
  }
  return undefined
}

/** The control groups whose names begin so, in all hierarchies. */
async function groupsOf(helper: NativeSupervisor, prefix: string): Promise<readonly string[]> {
  const { layout } = await helper.capabilities()
  const dirs = [...Object.values(layout.v1), ...(layout.v2 === undefined ? [] : [layout.v2.dir])]
  const names = await Promise.all(dirs.map((dir) => readdir(dir)))
  return names.flat().filter((name) => name.startsWith(prefix))
}
