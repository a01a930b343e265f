import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid, kill } from 'node:process'
import { after, suite, test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { ImageRegistry, type ImageConfig } from '../../../test/build/image-registry.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import { until } from '../../../test/build/until.ts'
import { written } from '../../../test/suites/shell-task-driver.ts'
import type { RunningTask, TaskLaunch } from '../../agent/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { DEFAULT_CAPS } from '../capabilities.ts'
import { DockerDriver } from './docker-driver.ts'
import type { DockerPolicy, DockerSettings } from './docker-policy.ts'
import {
  EngineClient,
  isSuccess,
  getPath,
  numberAt,
  tryParseJson,
  stringAt,
} from './engine-client.ts'
import { openWithoutReading, PinnedPaths } from './container-mounts.ts'

const CASES_AT_ONCE = 4
const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path))
const SWAPPED_STARTS = 12
const PASSWORDS = ['secret', 'secret7', 'secret78']

const policy: DockerPolicy = {
  allowPrivileged: false,
  allowVolumes: false,
  allowHostNamespaces: false,
  allowCaps: DEFAULT_CAPS,
  pidsMax: 4_096,
}

/** What this machine lacks for the whole file; empty: nothing. */
function trouble(): string {
  if (getuid?.() !== 0) return 'only root may run containers'
  const programs = ['podman', 'runc'].filter((name) => {
    return !existsSync(`/usr/bin/${name}`) && !existsSync(`/usr/sbin/${name}`)
  })
  if (programs.length > 0) return `${programs.join(', ')} is not installed`
  return BUSYBOX === undefined ? 'busybox is not installed' : ''
}

/** The files of all images: busybox, and a program in a directory that only the image knows. */
async function buildRoot(root: string): Promise<void> {
  for (const path of ['bin', 'tmp', 'etc', 'proc', 'dev', 'sys', 'opt/app/bin']) {
    await mkdir(join(root, path), { recursive: true })
  }
  await copyFile(BUSYBOX ?? '', join(root, 'bin/busybox'))
  const applets = execFileSync(BUSYBOX ?? '', ['--list'], { encoding: 'utf8' })
    .trim()
    .split('\n')
  for (const applet of applets) {
    if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet))
  }
  const app = join(root, 'opt/app/bin/app')
  await writeFile(app, '#!/bin/sh\necho "app of $FLAVOUR, PATH=$PATH"\n')
  await chmod(app, 0o755)
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\n')
}

interface PodmanService {
  readonly socketPath: string
  readonly close: () => Promise<void>
}

/**
 * A service with storage of its own that trusts the registries of this test. With a network of its
 * own it may make bridges that the machine does not see, and reaches no registry.
 */
async function startPodman(
  dir: string,
  { registries, ownNetwork }: { registries: readonly ImageRegistry[]; ownNetwork: boolean },
): Promise<PodmanService> {
  const socketPath = join(dir, ownNetwork ? 'networked.sock' : 'podman.sock')
  const [conf, registriesConf] = [join(dir, 'containers.conf'), join(dir, 'registries.conf')]
  await writeFile(
    conf,
    `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
exit_command_delay = 5
[network]
network_config_dir = "${join(dir, 'networks')}"
`,
  )
  const trusted = registries.map(({ address }) => {
    return `[[registry]]\nlocation = "${address}"\ninsecure = true\n`
  })
  await writeFile(registriesConf, trusted.join('\n'))
  const storage = ['--root', join(dir, 'root'), '--runroot', join(dir, 'run')]
  const args = [...storage, '--storage-driver', 'vfs', 'system', 'service', '--time=0']
  const podman = ['podman', ...args, `unix://${socketPath}`]
  const isolated = ['unshare', '-n', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh', ...podman]
  const [program = '', ...rest] = ownNetwork ? isolated : podman
  const service = spawn(program, rest, {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: dir,
      CONTAINERS_CONF: conf,
      CONTAINERS_REGISTRIES_CONF: registriesConf,
    },
    stdio: 'ignore',
  })
  const ended = once(service, 'exit')
  const engine = new EngineClient(socketPath)
  await until('podman', async () => {
    const answer = await engine.call({ method: 'GET', path: '/version' }).catch(() => undefined)
    return answer?.status === 200 ? true : undefined
  })
  return {
    socketPath,
    async close() {
      engine.close()
      service.kill('SIGTERM')
      await ended
    },
  }
}

/** The monitors of ended containers stay for a while: all that names the directory of this test. */
function endLeftovers(dir: string): void {
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const isOurs = readFileSync(`/proc/${entry}/cmdline`, 'latin1').includes(`${dir}/`)
      if (isOurs) kill(Number(entry), 'SIGKILL')
    } catch {
      // It has ended meanwhile.
      continue
    }
  }
}

interface Case {
  readonly bench: ProgramBench
  readonly driver: DockerDriver
  /** Of the script in an image; `env` is as the agent builds it for images: without a PATH. */
  readonly launch: (script: string, config?: Readonly<Record<string, unknown>>) => TaskLaunch
  readonly inspect: (task: RunningTask) => Promise<unknown>
  readonly output: () => Promise<string>
}

const why = trouble()
if (why !== '') test('docker: images with podman', { skip: why }, () => undefined)
else {
  const dir = await mkdtemp(join(tmpdir(), 'reeve-podman-'))
  await buildRoot(join(dir, 'image'))
  const open = await ImageRegistry.open(join(dir, 'image'))
  const closed = await ImageRegistry.open(join(dir, 'image'))
  const podman = await startPodman(dir, { registries: [open, closed], ownNetwork: false })
  const services = [podman]
  after(async () => {
    open.close()
    closed.close()
    for (const service of services) await service.close()
    endLeftovers(dir)
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  const image = (name: string, config: ImageConfig): string =>
    open.add(name, { Env: ['PATH=/bin'], ...config })
  const plain = image('plain', {})

  const openCase = async (
    t: TestContext,
    settings: Partial<DockerSettings> = {},
    allowed: Partial<DockerPolicy> = {},
    socketPath = podman.socketPath,
  ): Promise<Case> => {
    let driver: DockerDriver | undefined
    const bench = await ProgramBench.open(t, (benchDir) => {
      const stateDir = join(benchDir, 'state')
      const rules = { policy: { ...policy, ...allowed }, settings }
      driver = new DockerDriver({ clock: systemClock, socketPath, ...rules, stateDir })
      return { driver, config: () => ({}) }
    })
    assert.ok(driver !== undefined)
    const engine = new EngineClient(socketPath)
    t.after(() => engine.close())
    return {
      bench,
      driver,
      launch: (script, config = {}) => {
        const own = { image: plain, network_mode: 'none', command: 'sh', args: ['-c', script] }
        return { ...bench.script(''), env: {}, config: { ...own, ...config } }
      },
      inspect: async (task) => {
        const path = '/containers/json'
        const filters = JSON.stringify({ label: [`reeve.start=${task.handle.id}`] })
        const query = { all: 'true', filters }
        const listed = await engine.call({ method: 'GET', path, query })
        const id = stringAt(getPath(tryParseJson(listed.body), '0'), 'Id')
        const answer = await engine.call({ method: 'GET', path: `/containers/${id}/json` })
        return tryParseJson(answer.body)
      },
      output: () => written(bench.logs.stdoutPrefix),
    }
  }

  suite('docker: images with podman', { concurrency: CASES_AT_ONCE }, () => {
    test('the environment of the image is the image’s', async (t) => {
      const { driver, launch, output } = await openCase(t)
      const own = { Env: ['PATH=/opt/app/bin:/bin', 'FLAVOUR=mint'], Entrypoint: ['app'] }
      const config = { image: image('mint', own) }
      const task = await driver.start({
        ...launch(''),
        config: { ...config, network_mode: 'none' },
      })
      assert.equal((await task.exited).exitCode, 0)
      assert.equal(await output(), 'app of mint, PATH=/opt/app/bin:/bin\n')
    })

    const traps = "trap 'exit 7' INT; trap 'exit 8' TERM; trap 'exit 9' QUIT; trap 'exit 10' HUP"
    const stops = [
      { name: 'the image’s', config: { StopSignal: 'SIGINT' }, signal: '', code: 7 },
      { name: 'the image’s number', config: { StopSignal: '1' }, signal: '', code: 10 },
      { name: 'the usual one', config: {}, signal: '', code: 8 },
      { name: 'the task’s', config: { StopSignal: 'SIGINT' }, signal: 'QUIT', code: 9 },
    ]
    for (const { name, config, signal, code } of stops) {
      test(`a container is stopped with ${name}: ${JSON.stringify(config)} ${signal}`, async (t) => {
        const { driver, launch, output } = await openCase(t)
        const script = `${traps}; echo ready; while :; do sleep 0.05; done`
        const own = { image: image(`stops-${code}`, config) }
        const task = await driver.start(launch(script, own))
        await until('the traps', async () => ((await output()) === 'ready\n' ? true : undefined))
        await task.stop({ signal, timeoutMs: 10_000 })
        assert.equal((await task.exited).exitCode, code)
      })
    }

    test('a registry takes logins of every length, and no others', async (t) => {
      const { driver, launch } = await openCase(t)
      // One after the other: the registry has one login at a time.
      for (const password of PASSWORDS) {
        closed.login = `ann:${password}`
        const name = closed.add(`private-${password.length}`, { Env: ['PATH=/bin'] })
        const auth = [{ username: 'ann', password }]
        const task = await driver.start(launch('exit 0', { image: name, auth }))
        assert.equal((await task.exited).exitCode, 0)
      }
      const name = closed.add('private-other', {})
      const auth = [{ username: 'ann', password: 'wrong' }]
      await assert.rejects(driver.start(launch('exit 0', { image: name, auth })), {
        kind: 'task-unstartable',
        message: /^cannot fetch image .*private-other:1: .*unauthorized/,
      })
    })

    test('volumes are mounted as they are when the container starts', async (t) => {
      const { driver, bench, launch, output } = await openCase(t)
      await writeFile(join(bench.dir, 'web/local/conf'), 'conf\n')
      await mkdir(join(bench.dir, 'alloc/data/d'))
      const volumes = ['local/conf:/etc/conf:ro', '../alloc/data/d:/data', 'fresh:/fresh:rw,z']
      const mount = [{ type: 'bind', source: '../alloc/data/d', target: '/again', readonly: true }]
      const script =
        'cat /etc/conf; echo new > /data/f; cat /again/f; touch /again/x || echo ro; ' +
        'echo x > /etc/conf || echo ro; touch /fresh/f; sleep 0.1'
      const task = await driver.start(launch(script, { volumes, mount }))
      const held = readFileSync('/proc/self/mountinfo', 'utf8').includes(`${bench.dir}/state`)
      assert.equal(held, false)
      assert.equal((await task.exited).exitCode, 0)
      assert.equal(await output(), 'conf\nnew\nro\nro\n')
      assert.ok(existsSync(join(bench.dir, 'web/fresh/f')))
      assert.equal(readFileSync(join(bench.dir, 'alloc/data/d/f'), 'utf8'), 'new\n')
    })

    for (const kind of ['volumes', 'mount'] as const) {
      test(`${kind}: a link swapped during a slow pull leads nowhere`, async (t) => {
        const { driver, bench, launch, output } = await openCase(t)
        const outside = join(bench.dir, 'host')
        await mkdir(outside)
        await writeFile(join(outside, 'secret'), 'of the host')
        const victim = join(bench.dir, 'alloc/data/x')
        await mkdir(victim)
        const held = Promise.withResolvers<void>()
        open.held.set(kind, held.promise)
        const storage =
          kind === 'volumes'
            ? { volumes: ['../alloc/data/x:/host'] }
            : { mount: [{ type: 'bind', source: '../alloc/data/x', target: '/host' }] }
        const said: string[] = []
        const context = {
          signal: new AbortController().signal,
          report: (message: string) => void said.push(message),
        }
        const started = launch('cat /host/secret', { ...storage, image: image(kind, {}) })
        const prepared = driver.prepare(started, context)
        await until('the pull', () => (said.length > 0 ? true : undefined))
        await rename(victim, `${victim}-old`)
        await symlink(outside, victim)
        held.resolve()
        await prepared
        await assert.rejects(driver.start(started), {
          kind: 'task-config',
          message: /"\.\.\/alloc\/data\/x" is outside the allocation$/,
        })
        assert.equal(await output().catch(() => ''), '')
      })
    }

    test('volumes: a link that is swapped all the time never leads to the host', async (t) => {
      const { driver, bench, launch, output } = await openCase(t)
      const data = join(bench.dir, 'alloc/data')
      await mkdir(join(bench.dir, 'host'))
      await writeFile(join(bench.dir, 'host/f'), 'of the host\n')
      await mkdir(join(data, 'own'))
      await writeFile(join(data, 'own/f'), 'of the task\n')
      await symlink('own', join(data, 'x'))
      // Each rename is atomic: at every moment the name leads to one of both.
      const swap = 'while :; do ln -s ../../host y; mv -T y x; ln -s own y; mv -T y x; done'
      const swapper = spawn('sh', ['-c', swap], { cwd: data, stdio: 'ignore' })
      t.after(() => void swapper.kill('SIGKILL'))
      let started = 0
      for (let attempt = 0; attempt < SWAPPED_STARTS; attempt += 1) {
        try {
          const config = { volumes: ['../alloc/data/x:/x:ro'] }
          const task = await driver.start(launch('cat /x/*', config))
          await task.exited
          started += 1
        } catch (thrown) {
          assert.match(errorMessage(thrown), /outside the allocation/)
        }
      }
      assert.equal(await output().catch(() => ''), 'of the task\n'.repeat(started))
    })

    test('options of volumes that mount more are rejected', async (t) => {
      const { driver, bench, launch } = await openCase(t)
      const volumes = [`local/d:/x:O,upperdir=${bench.dir},workdir=/tmp`]
      await assert.rejects(driver.start(launch('true', { volumes })), {
        kind: 'task-config',
        message: /the option "O" .* is not allowed/,
      })
    })

    test('labels are as the engine shows them, and the health check is off', async (t) => {
      const { driver, launch, inspect } = await openCase(t, { extraLabels: ['*'] })
      const Healthcheck = { Test: ['CMD-SHELL', 'true'], Interval: 30_000_000_000 }
      const config = {
        image: image('checked', { Healthcheck, Labels: { of: 'image' } }),
        labels: [{ team: 'a\u0007b', 'reeve.task': 'forged' }],
        healthchecks: [{ disable: true }],
        pids_limit: 77,
      }
      const found = await inspect(await driver.start(launch('sleep 60', config)))
      const labels = getPath(found, 'Config', 'Labels')
      assert.equal(stringAt(labels, 'of'), 'image')
      assert.equal(stringAt(labels, 'team'), 'a\u0007b')
      assert.equal(stringAt(labels, 'reeve.task'), 'web')
      assert.equal(stringAt(labels, 'reeve.job_id'), 'shop')
      assert.deepEqual(getPath(found, 'Config', 'Healthcheck', 'Test'), ['NONE'])
      assert.equal(getPath(found, 'HostConfig', 'PidsLimit'), 77)
    })

    test('load: an archive of the task is its image', async (t) => {
      const { driver, bench, launch, output } = await openCase(t)
      const files = join(bench.dir, 'web/local/files')
      await mkdir(files)
      const archive = open.archive('localhost/loaded:1', { Env: ['PATH=/bin', 'FLAVOUR=lime'] })
      for (const [name, bytes] of Object.entries(archive)) await writeFile(join(files, name), bytes)
      execFileSync('tar', ['-C', files, '-cf', join(bench.dir, 'web/local/i.tar'), '.'])
      const config = { image: 'localhost/loaded:1', load: 'local/i.tar' }
      const task = await driver.start(launch('echo $FLAVOUR', config))
      assert.equal((await task.exited).exitCode, 0)
      assert.equal(await output(), 'lime\n')
    })

    const logs = [
      {
        name: 'a readable log driver',
        settings: {},
        logging: [{ type: 'k8s-file' }],
        text: 'hi\n',
      },
      {
        name: 'the log driver of the node',
        settings: { logging: { type: 'k8s-file', config: {} } },
        text: 'hi\n',
      },
      { name: 'a driver that keeps nothing', settings: {}, logging: [{ type: 'none' }], text: '' },
      { name: 'collection switched off', settings: { collectsLogs: false }, text: '' },
    ]
    for (const { name, settings, logging, text } of logs) {
      test(`logging: ${name}`, async (t) => {
        const { driver, launch, output } = await openCase(t, settings)
        const config = logging === undefined ? {} : { logging }
        const task = await driver.start(launch('echo hi', config))
        assert.equal((await task.exited).exitCode, 0)
        assert.equal(await output().catch(() => ''), text)
      })
    }

    test('rights: what is held back unless the node allows it; the node’s network', async (t) => {
      const script =
        'grep NoNewPrivs /proc/self/status; ls /sys/class/net | sort | tr "\\n" " "; sleep 60'
      for (const isOpen of [false, true]) {
        const allowed = { pidsMax: isOpen ? 0 : 4_096 }
        const { driver, launch, inspect, output } = await openCase(
          t,
          { noNewPrivileges: !isOpen },
          allowed,
        )
        const task = await driver.start(launch(script, { network_mode: 'host' }))
        const names = readdirSync('/sys/class/net').toSorted().join(' ')
        const want = `NoNewPrivs:\t${isOpen ? 0 : 1}\n${names} `
        await until('the output', async () => ((await output()) === want ? true : undefined))
        const limit = Number(getPath(await inspect(task), 'HostConfig', 'PidsLimit'))
        assert.ok(isOpen ? limit <= 0 : limit === 4_096, String(limit))
      }
    })

    test('volumes: an engine that does not see the mounts of the agent is noticed', async (t) => {
      const { driver, bench, launch, inspect } = await openCase(t)
      await mkdir(join(bench.dir, 'web/local/d'))
      const task = await driver.start(launch('sleep 60', { volumes: ['local/d:/x'] }))
      const found = await PinnedPaths.open(join(bench.dir, 'state'), 'another')
      const file = await openWithoutReading(join(bench.dir, 'alloc/data'))
      await found.pin(file)
      await file.close()
      const container = await inspect(task)
      const [id, pid] = [stringAt(container, 'Id'), numberAt(container, 'State', 'Pid')]
      // It was not there when the container started.
      assert.equal(await found.areMountedIn({ id, pid }), false)
      assert.equal(await found.areMountedIn({ id: 'other', pid }), true)
      await found.release()
    })

    const bridge = [
      '/usr/lib/cni/bridge',
      '/opt/cni/bin/bridge',
      '/usr/lib/podman/netavark',
      '/usr/libexec/podman/netavark',
    ]
    const skip = bridge.some((path) => existsSync(path)) ? false : 'podman has no networks here'
    test('networks that users make: names and addresses of their own', { skip }, async (t) => {
      // Its image is fetched by the service that reaches the registry.
      const { driver: fetching, launch: fetched } = await openCase(t)
      await fetching.prepare(fetched('true'), {
        signal: new AbortController().signal,
        report: () => undefined,
      })
      const service = await startPodman(dir, { registries: [open], ownNetwork: true })
      services.push(service)
      const engine = new EngineClient(service.socketPath)
      t.after(() => engine.close())
      const IPAM = { Config: [{ Subnet: '10.77.0.0/24' }] }
      // The engine keeps the addresses of a network by its name, for the whole machine.
      const lan = `lan-${process.pid}`
      t.after(() => rm(join('/var/lib/cni/networks', lan), { recursive: true, force: true }))
      const body = { Name: lan, IPAM }
      const made = await engine.call({ method: 'POST', path: '/networks/create', body })
      assert.ok(isSuccess(made), made.body)
      const { driver, launch, inspect } = await openCase(t, {}, {}, service.socketPath)
      const server = await driver.start(
        launch('while :; do echo hi | nc -l -p 80; done', {
          network_mode: lan,
          network_aliases: ['db'],
          ipv4_address: '10.77.0.9',
        }),
      )
      assert.equal(server.address?.ip, '10.77.0.9')
      const networks = getPath(await inspect(server), 'NetworkSettings', 'Networks', lan)
      const aliases = getPath(networks, 'Aliases')
      assert.ok(Array.isArray(aliases) && aliases.includes('db'), JSON.stringify(networks))
      const client = await openCase(t, {}, {}, service.socketPath)
      const asking = client.launch('until nc 10.77.0.9 80; do sleep 0.1; done', {
        network_mode: lan,
      })
      const task = await client.driver.start(asking)
      assert.equal((await task.exited).exitCode, 0)
      assert.equal(await client.output(), 'hi\n')
    })

    test('a pull is interrupted, also on the side of the engine', async (t) => {
      const { driver, launch } = await openCase(t)
      const name = image('slow', {})
      open.held.set('slow', new Promise(() => undefined))
      const stop = new AbortController()
      const said: string[] = []
      const context = { signal: stop.signal, report: (text: string) => void said.push(text) }
      const pull = driver.prepare(launch('true', { image: name }), context)
      await until('the pull', () => (said.length > 0 ? true : undefined))
      stop.abort()
      await assert.rejects(pull, /it was interrupted$/)
      assert.deepEqual(said, [`Downloading image ${name}`])
    })
  })
}
