import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid, kill } from 'node:process'
import { after, suite, test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { ProgramBench } from '../../../test/build/shell-bench.ts'
import { until } from '../../../test/build/until.ts'
import { shellTaskDriverSuite } from '../../../test/suites/shell-task-driver.ts'
import { taskDriverSuite } from '../../../test/suites/task-driver.ts'
import { DEFAULT_CAPS } from '../settings/capabilities.ts'
import { DockerDriver } from './docker-driver.ts'
import type { DockerPolicy } from './docker-policy.ts'
import { Engine, isSuccess } from './engine.ts'

const IMAGE = 'localhost/reeve-test:1'
const CASES_AT_ONCE = 4
const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path))

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
  for (const program of ['podman', 'runc']) {
    if (!existsSync(`/usr/bin/${program}`) && !existsSync(`/usr/sbin/${program}`)) {
      return `${program} is not installed`
    }
  }
  return BUSYBOX === undefined ? 'busybox is not installed' : ''
}

/** Reference task-drivers §16.5: a service with storage of its own, and an image from busybox. */
async function startPodman(dir: string): Promise<string> {
  const socketPath = join(dir, 'podman.sock')
  const conf = join(dir, 'containers.conf')
  await writeFile(
    conf,
    `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
exit_command_delay = 5
`,
  )
  const storage = ['--root', join(dir, 'root'), '--runroot', join(dir, 'run')]
  const args = [...storage, '--storage-driver', 'vfs', 'system', 'service', '--time=0']
  const service = spawn('podman', [...args, `unix://${socketPath}`], {
    env: { PATH: process.env['PATH'] ?? '', HOME: dir, CONTAINERS_CONF: conf },
    stdio: 'ignore',
  })
  const ended = once(service, 'exit')
  after(async () => {
    service.kill('SIGTERM')
    await ended
    endLeftovers(dir)
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  const engine = new Engine(socketPath)
  await until('podman', async () => {
    const answer = await engine.call({ method: 'GET', path: '/version' }).catch(() => undefined)
    return answer?.status === 200 ? true : undefined
  })
  await importImage(engine, dir)
  return socketPath
}

/** The monitors of ended sessions stay for a while: all that names the directory of this test. */
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

async function importImage(engine: Engine, dir: string): Promise<void> {
  const root = join(dir, 'image')
  for (const path of ['bin', 'tmp', 'etc', 'proc', 'dev', 'sys']) {
    await mkdir(join(root, path), { recursive: true })
  }
  await copyFile(BUSYBOX ?? '', join(root, 'bin/busybox'))
  const applets = execFileSync(BUSYBOX ?? '', ['--list'], { encoding: 'utf8' })
    .trim()
    .split('\n')
  for (const applet of applets) {
    if (applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet))
  }
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\n')
  const archive = join(dir, 'image.tar')
  execFileSync('tar', ['-C', root, '-cf', archive, '.'])
  await post(engine.socketPath, '/v1.41/images/create?fromSrc=-&repo=localhost/reeve-test', archive)
  // The tag in an import is ignored: it is given afterwards.
  const tagged = await engine.call({
    method: 'POST',
    path: `/images/${encodeURIComponent('localhost/reeve-test:latest')}/tag`,
    query: { repo: 'localhost/reeve-test', tag: '1' },
  })
  assert.ok(isSuccess(tagged), tagged.text)
}

async function post(socketPath: string, path: string, file: string): Promise<void> {
  const body = await readFile(file)
  const headers = { 'Content-Type': 'application/x-tar', 'Content-Length': body.length }
  await new Promise<void>((resolve, reject) => {
    const call = request({ socketPath, path, method: 'POST', headers }, (response) => {
      response.resume()
      response.once('end', resolve)
    })
    call.once('error', reject)
    call.end(body)
  })
}

const why = trouble()
if (why !== '') test('docker with podman', { skip: why }, () => undefined)
else {
  const socketPath = await startPodman(await mkdtemp(join(tmpdir(), 'reeve-podman-')))
  const makeDriver = (): DockerDriver =>
    new DockerDriver({ clock: systemClock, socketPath, policy })
  const openBench = (t: TestContext): Promise<ProgramBench> =>
    ProgramBench.open(t, () => ({
      driver: makeDriver(),
      config: (text) => {
        return { image: IMAGE, network_mode: 'none', command: 'sh', args: ['-c', text] }
      },
    }))

  // Most of each case is waiting for the engine; all have containers and directories of their own.
  suite('docker with podman', { concurrency: CASES_AT_ONCE }, () => {
    taskDriverSuite('docker with podman', async (t) => {
      const bench = await openBench(t)
      return {
        driver: bench.driver,
        reopen: makeDriver,
        launch: (behaviour) =>
          // The first process of a container cannot kill itself.
          behaviour.kind === 'dies'
            ? bench.script(`sh -c 'kill -${behaviour.signal} $$'; exit $?`)
            : bench.launch(behaviour),
        wait: (promise) => promise,
        ready: (task) => bench.ready(task),
      }
    })

    shellTaskDriverSuite('docker with podman', openBench, {
      exactSignals: 'engines tell death by a signal only as 128 more',
      exactEnvironment: 'images have variables of their own',
      supervisor: 'the engine is the supervisor',
      limits: 'podman does not tell of it on every kind of control groups',
    })
  })
}
