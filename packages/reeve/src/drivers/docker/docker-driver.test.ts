import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { DOCKER, FakeEngine, PODMAN, type EngineDialect } from '../../../test/build/fake-engine.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import { until } from '../../../test/build/until.ts'
import {
  shellTaskDriverSuite,
  stubbornCommandCase,
  written,
} from '../../../test/suites/shell-task-driver.ts'
import { taskDriverSuite } from '../../../test/suites/task-driver.ts'
import { HOST_NETWORK, type TaskDriver } from '../../agent/index.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { DockerDriver } from './docker-driver.ts'
import { EngineClient } from './engine-client.ts'
import { readDockerConfig } from './docker-config.ts'
import {
  requireAllowedByPolicy,
  type DockerPolicy,
  DEFAULT_DOCKER_SETTINGS,
} from './docker-policy.ts'

const policy: DockerPolicy = {
  allowPrivileged: false,
  allowVolumes: false,
  allowHostNamespaces: false,
  allowCaps: DEFAULT_CAPS,
  pidsMax: 4_096,
}

interface DockerBench {
  readonly engine: FakeEngine
  readonly bench: ProgramBench
  readonly driver: TaskDriver
}

async function openBench(
  t: TestContext,
  dialect: EngineDialect = DOCKER,
  allowed: Partial<DockerPolicy> = {},
): Promise<DockerBench> {
  let engine: FakeEngine | undefined
  const bench = await ProgramBench.open(t, async (dir) => {
    const fake = await FakeEngine.open(dir, dialect)
    engine = fake
    return {
      driver: new DockerDriver({
        clock: systemClock,
        socketPath: fake.socketPath,
        policy: { ...policy, ...allowed },
      }),
      config: (text) => ({ image: 'box:1', command: 'sh', args: ['-c', text] }),
      close: () => fake.close(),
    }
  })
  assert.ok(engine !== undefined)
  return { engine, driver: bench.driver, bench }
}

for (const dialect of [DOCKER, PODMAN]) {
  taskDriverSuite(`docker, as ${dialect.name} speaks`, async (t) => {
    const { bench, driver, engine } = await openBench(t, dialect)
    return {
      driver,
      reopen: () => new DockerDriver({ clock: systemClock, socketPath: engine.socketPath, policy }),
      launch: (behaviour) => bench.launch(behaviour),
      wait: (promise) => promise,
      ready: (task) => bench.ready(task),
    }
  })
}

shellTaskDriverSuite('docker with a pretended engine', async (t) => (await openBench(t)).bench, {
  ...(getuid?.() === 0 ? {} : { users: 'only root may change users' }),
  exactSignals: 'engines tell death by a signal only as 128 more',
  terminal: 'the pretended engine has none',
  limits: 'the pretended engine has none',
  supervisor: 'the engine is the supervisor',
  escapees: 'the pretended engine has no namespaces',
})

stubbornCommandCase('docker', async (t) => (await openBench(t)).bench)

test('docker: the fingerprint contains the engine', async (t) => {
  const { driver } = await openBench(t)
  const { attributes } = await driver.fingerprint()
  assert.deepEqual(attributes, {
    'driver.docker': '1',
    'driver.docker.version': '1.2.3',
    'driver.docker.os_type': 'linux',
    'driver.docker.runtimes': 'crun,runc',
    'driver.docker.bridge_ip': '172.17.0.1',
    'driver.docker.privileged.enabled': 'false',
    'driver.docker.volumes.enabled': 'false',
    'driver.docker.allocation_network': 'none',
    'driver.docker.allocation_network.problem':
      'the task helper, which pause containers run, was not built on this node',
  })
})

test('docker: a task that cannot join its allocation network fails with the reason', async (t) => {
  const { bench, driver } = await openBench(t)
  const network = { ...HOST_NETWORK, mode: 'bridge', namespacePath: '/run/netns/x' }
  await assert.rejects(driver.start(bench.script('exit 0', { network })), {
    kind: 'task-unstartable',
    message: /cannot join the network "bridge" of their allocation: the task helper.*network_mode/,
  })
})

test('docker: without an engine the driver is not detected, with the reason', async () => {
  const driver = new DockerDriver({ clock: systemClock, socketPath: '/nowhere/x.sock', policy })
  const health = await driver.fingerprint()
  assert.equal(health.detected, false)
  assert.match(health.description, /\/nowhere\/x\.sock does not answer/)
})

test('docker: a remaining container is removed with the records of its task', async (t) => {
  const { engine, driver, bench } = await openBench(t)
  const task = await driver.start(bench.script('exit 0'))
  await task.exited
  assert.equal(engine.containerCount, 1)
  await task.destroyRecords()
  assert.equal(engine.containerCount, 0)
})

test('docker: reports the address assigned by the engine', async (t) => {
  const { driver, bench } = await openBench(t)
  const task = await driver.start(bench.launch({ kind: 'runs' }))
  assert.equal(task.address?.ip, '172.17.0.9')
})

test('docker: the next agent announces the same address', async (t) => {
  const { driver, bench, engine } = await openBench(t)
  const launch = bench.launch({ kind: 'runs' })
  const config = { ...launch.config, advertise_ipv6_address: true }
  const task = await driver.start({ ...launch, config })
  assert.equal(task.address?.ip, 'fd00::9')
  task.detach()
  const next = new DockerDriver({ clock: systemClock, socketPath: engine.socketPath, policy })
  const recovery = await next.recover(launch.handle)
  assert.equal(recovery.kind === 'attached' ? recovery.task.address?.ip : '', 'fd00::9')
})

const stopSignals = [
  { image: 'SIGINT', task: '', sent: 'SIGINT' },
  { image: '3', task: '', sent: '3' },
  { image: 'SIGRTMIN+3', task: '', sent: 'SIGRTMIN+3' },
  { image: '', task: '', sent: 'SIGTERM' },
  { image: 'SIGINT', task: 'term', sent: 'SIGTERM' },
  { image: 'SIGINT', task: '2', sent: '2' },
  { image: 'SIGQUIT', task: 'misspelt', sent: 'SIGQUIT' },
]
for (const { image, task: asked, sent } of stopSignals) {
  test(`docker: image ${image || 'none'} and task ${asked || 'none'} end by ${sent}`, async (t) => {
    const { driver, bench, engine } = await openBench(t)
    engine.stopSignal = image
    const task = await driver.start(bench.script(`trap 'exit 0' TERM INT QUIT; sleep 60 & wait`))
    await task.stop({ signal: asked, timeoutMs: 50 })
    assert.equal(engine.signals[0], sent)
  })
}

test('docker: a stop ends the pull of a start that is prepared', async (t) => {
  const { bench, engine } = await openBench(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  engine.pullsEnd = promise
  t.after(() => resolve())
  engine.registry.set('far/away:2', [])
  const driver = new DockerDriver({ clock: systemClock, socketPath: engine.socketPath, policy })
  const launch = bench.script('exit 0')
  const stop = new AbortController()
  const config = { ...launch.config, image: 'far/away:2' }
  const fetched = driver.prepare(
    { ...launch, config },
    {
      signal: stop.signal,
      report: () => stop.abort(),
    },
  )
  await assert.rejects(fetched, { kind: 'task-start', message: /it was interrupted$/ })
})

test('docker: a prepared image is not pulled again unless it was removed', async (t) => {
  const { bench, engine } = await openBench(t)
  engine.registry.set('moving:latest', [{ status: 'Done' }])
  const driver = new DockerDriver({ clock: systemClock, socketPath: engine.socketPath, policy })
  const pulls = (): number =>
    engine.requests.filter(({ line }) => line === 'POST /images/create').length
  const context = { signal: new AbortController().signal, report: () => undefined }
  for (const [isGone, count] of [
    [false, 1],
    [true, 3],
  ] as const) {
    const launch = bench.script('exit 0')
    const prepared = { ...launch, config: { ...launch.config, image: 'moving' } }
    await driver.prepare(prepared, context)
    if (isGone) engine.images.delete('moving:latest')
    await (
      await driver.start(prepared)
    ).exited
    assert.equal(pulls(), count)
  }
})

const allowed = [
  { config: { network_mode: 'host' }, settings: {}, message: undefined },
  {
    config: { network_mode: 'host' },
    settings: { allowHostNetwork: false },
    message: /^network_mode "host" is not allowed/,
  },
  { config: { runtime: 'runsc' }, settings: { allowRuntimes: ['run*'] }, message: undefined },
  { config: { runtime: 'runc' }, settings: { allowRuntimes: [] }, message: /^runtime "runc"/ },
  {
    config: { security_opt: ['no-new-privileges:false'] },
    settings: { noNewPrivileges: false },
    message: undefined,
  },
  {
    config: { security_opt: ['no-new-privileges:false'] },
    settings: {},
    message: /^security_opt is not allowed/,
  },
  { config: { pids_limit: 9_999 }, settings: {}, pidsMax: 0, message: undefined },
]
for (const { config, settings, pidsMax = 4_096, message } of allowed) {
  const verdict = message === undefined ? 'allowed' : 'refused'
  test(`docker: ${JSON.stringify({ ...config, settings, pidsMax })} is ${verdict}`, () => {
    const check = (): void => {
      const node = { ...DEFAULT_DOCKER_SETTINGS, ...settings }
      requireAllowedByPolicy(
        readDockerConfig({ image: 'box:1', ...config }),
        { ...policy, pidsMax },
        node,
      )
    }
    if (message === undefined) check()
    else assert.throws(check, { kind: 'task-config', message })
  })
}

test('docker: the next agent continues after the last entry of the log', async (t) => {
  const { driver, bench, engine } = await openBench(t)
  const go = join(bench.dir, 'go')
  const launch = bench.script(
    `echo one; echo two; while ! [ -e ${go} ]; do sleep 0.02; done; echo three; exit 0`,
  )
  const task = await driver.start(launch)
  await until('two lines', async () => {
    return (await written(bench.logs.stdoutPrefix)) === 'one\ntwo\n' ? true : undefined
  })
  task.detach()
  await mkdir(go)
  const next = new DockerDriver({ clock: systemClock, socketPath: engine.socketPath, policy })
  const recovery = await next.recover(launch.handle)
  assert.equal(recovery.kind, 'attached')
  if (recovery.kind === 'attached') await recovery.task.exited
  assert.equal(await written(bench.logs.stdoutPrefix), 'one\ntwo\nthree\n')
})

test('docker: a container that was removed externally is lost', async (t) => {
  const { driver, bench, engine } = await openBench(t)
  const launch = bench.launch({ kind: 'runs' })
  const task = await driver.start(launch)
  task.detach()
  const next = new DockerDriver({ clock: systemClock, socketPath: engine.socketPath, policy })
  const found = await next.recover(launch.handle)
  assert.equal(found.kind, 'attached')
  if (found.kind !== 'attached') return
  found.task.detach()
  await fetchDelete(engine)
  assert.deepEqual(await next.recover(launch.handle), {
    kind: 'lost',
    reason: 'the container was removed',
  })
})

async function fetchDelete(engine: FakeEngine): Promise<void> {
  const client = new EngineClient(engine.socketPath)
  const listed = await client.call({
    method: 'GET',
    path: '/containers/json',
    query: { filters: '{"label":[]}' },
  })
  // The pretended engine's own answer.
  for (const { Id } of JSON.parse(listed.body) as { readonly Id: string }[]) {
    await client.call({ method: 'DELETE', path: `/containers/${Id}` })
  }
}

test('docker: terminal sizes reach the engine, whichever success status it returns', async (t) => {
  for (const dialect of [DOCKER, PODMAN]) {
    const { driver, bench, engine } = await openBench(t, dialect)
    const task = await driver.start(bench.launch({ kind: 'runs' }))
    const session = await task.exec({ command: ['cat'], tty: { rows: 30, columns: 90 } })
    session.resize({ rows: 50, columns: 120 })
    await until('both sizes', () => (engine.sizes.length === 2 ? true : undefined))
    assert.deepEqual(engine.sizes.toSorted(), ['30x90', '50x120'])
    session.hangUp()
    session.stdout.resume()
    await session.exited
  }
})

const pulls = [
  { name: 'an image that is there is not fetched', image: 'box:1', pulled: 0 },
  { name: 'an image that is not there is fetched', image: 'far/away:2', pulled: 1 },
  { name: 'a name that moves is fetched each time', image: 'moving', pulled: 1 },
  { name: 'a forced one is fetched though it is there', image: 'box:1', force: true, pulled: 1 },
]
for (const c of pulls) {
  test(`docker: ${c.name}`, async (t) => {
    const { driver, bench, engine } = await openBench(t)
    for (const image of ['far/away:2', 'moving:latest', 'box:1']) {
      engine.registry.set(image, [{ status: 'Pulling' }, { status: 'Done' }])
    }
    const launch = bench.script('exit 0')
    const config = { ...launch.config, image: c.image, force_pull: c.force === true }
    await (
      await driver.start({ ...launch, config })
    ).exited
    const pulled = engine.requests.filter(({ line }) => line === 'POST /images/create')
    assert.equal(pulled.length, c.pulled)
  })
}

const failedPulls = [
  { name: 'one the registry does not know', lines: undefined, kind: 'task-unstartable' },
  { name: 'one that may not be had', lines: [{ error: 'denied' }], kind: 'task-unstartable' },
  { name: 'a connection that broke', lines: [{ error: 'EOF' }], kind: 'task-start' },
]
for (const c of failedPulls) {
  test(`docker: ${c.name} is said to be, and whether to try again`, async (t) => {
    const { driver, bench, engine } = await openBench(t)
    if (c.lines !== undefined) engine.registry.set('far/away:2', c.lines)
    const launch = bench.script('exit 0')
    const config = { ...launch.config, image: 'far/away:2' }
    await assert.rejects(driver.start({ ...launch, config }), {
      kind: c.kind,
      message: /^cannot fetch image far\/away:2: /,
    })
    assert.equal(engine.containerCount, 0)
  })
}

test('docker: a login is sent to the engine only', async (t) => {
  const { driver, bench, engine } = await openBench(t)
  engine.registry.set('reg.test:5000/app:2', [{ status: 'Done' }])
  const launch = bench.script('exit 0')
  const auth = { username: 'ann', password: 'secret' }
  const config = { ...launch.config, image: 'reg.test:5000/app:2', auth: [auth] }
  await (
    await driver.start({ ...launch, config })
  ).exited
  const pull = engine.requests.find(({ line }) => line === 'POST /images/create')
  assert.deepEqual(JSON.parse(Buffer.from(pull?.auth ?? '', 'base64url').toString('utf8')), {
    username: 'ann',
    password: 'secret',
    email: '',
    serveraddress: 'reg.test:5000',
  })
  assert.doesNotMatch(JSON.stringify(engine.created), /secret"/)
})

const refused = [
  { config: { privileged: true }, message: /^privileged is not allowed/ },
  {
    config: { network_mode: 'container:x' },
    message: /^network_mode "container:x" is not allowed/,
  },
  { config: { pid_mode: 'host' }, message: /^pid_mode "host" is not allowed/ },
  { config: { ipc_mode: 'container:x' }, message: /^ipc_mode "container:x" is not allowed/ },
  { config: { cap_add: ['sys_admin'] }, message: /does not allow sys_admin$/ },
  { config: { security_opt: ['seccomp=unconfined'] }, message: /^security_opt is not allowed/ },
  { config: { devices: [{ host_path: '/dev/kmsg' }] }, message: /^devices is not allowed/ },
  { config: { volumes: ['/etc:/host'] }, message: /"\/etc" is outside the allocation$/ },
  { config: { volumes: ['../..:/x'] }, message: /"\.\.\/\.\." is outside the allocation$/ },
  { config: { volumes: ['link:/x'] }, message: /"link" is outside the allocation$/ },
  { config: { volumes: ['./link:/x'] }, message: /"\.\/link" is outside the allocation$/ },
  { config: { volumes: ['local:/x:O,upperdir=/etc'] }, message: /option "O" .* is not allowed/ },
  { config: { runtime: 'kata' }, message: /^runtime "kata" \(allow_runtimes\) is not allowed/ },
  { config: { volume_driver: 'nfs' }, message: /^volume_driver is not allowed/ },
  { config: { pids_limit: 5_000 }, message: /^pids_limit over 4096 is not allowed/ },
  { config: { ports: ['http'] }, message: /no port "http" was granted/ },
  { config: { ulimit: { nofile: 'many' } }, message: /^ulimit nofile: "many" is not soft:hard/ },
  { config: { image: 'NOT an image' }, message: /is not a name of an image$/ },
  { config: { privilegd: true }, message: /did you mean privileged\?$/ },
]
for (const c of refused) {
  test(`docker: ${JSON.stringify(c.config)} is rejected without a call to the engine`, async (t) => {
    const { driver, bench, engine } = await openBench(t)
    await symlink('/etc', join(bench.dir, 'web', 'link'))
    const launch = bench.script('true')
    await assert.rejects(driver.start({ ...launch, config: { ...launch.config, ...c.config } }), {
      kind: 'task-config',
      message: c.message,
    })
    assert.equal(engine.containerCount, 0)
  })
}

test('docker: the socket of the engine is given to no task, even where volumes are', async (t) => {
  const { driver, bench, engine } = await openBench(t, DOCKER, { allowVolumes: true })
  for (const source of [engine.socketPath, '/']) {
    const launch = bench.script('true')
    const config = { ...launch.config, volumes: [`${source}:/engine`] }
    await assert.rejects(driver.start({ ...launch, config }), /holds the socket/)
  }
})

const anyCores = { cpuMHz: 1, cpuFraction: 1, cores: [], memoryMB: 64, memoryMaxMB: 0 }

test('docker: containers without cores of their own leave those that others reserve', async (t) => {
  const { engine, bench } = await openBench(t)
  const make = (): DockerDriver =>
    new DockerDriver({ clock: systemClock, socketPath: engine.socketPath, policy })
  const first = make()
  const shared = bench.launch({ kind: 'runs' })
  const launches = [
    { ...shared, resources: anyCores },
    { ...bench.launch({ kind: 'runs' }), resources: { ...anyCores, cores: [0] } },
    { ...bench.launch({ kind: 'runs' }), resources: { ...anyCores, sharedCores: [1, 2] } },
  ]
  for (const launch of launches) (await first.start(launch)).detach()
  const updates = (): unknown[] =>
    engine.requests.filter(({ line }) => line.endsWith('/update')).map(({ body }) => body)
  await first.shareCores([1, 2])
  assert.deepEqual(updates(), [{ CpusetCpus: '1,2' }])
  await first.shareCores([])
  const every = { CpusetCpus: `0-${availableParallelism() - 1}` }
  assert.deepEqual(updates().slice(1), [every, every])
  // The next agent knows what each was started on.
  const next = make()
  await next.recover(shared.handle)
  await next.shareCores([2])
  assert.deepEqual(updates().slice(3), [{ CpusetCpus: '2' }])
})
