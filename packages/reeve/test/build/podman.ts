/** A podman service of its own for tests and benches: own storage, own socket, one small image. */
import assert from 'node:assert/strict'
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getuid, kill } from 'node:process'
import { EngineClient, isSuccess } from '../../src/drivers/docker/engine-client.ts'
import { EngineProxy } from './engine-proxy.ts'
import { until } from './until.ts'

/** Holds busybox alone. */
export const TEST_IMAGE = 'localhost/reeve-test:1'

const BUSYBOX = ['/bin/busybox', '/usr/bin/busybox'].find((path) => existsSync(path))

/** Why containers cannot be run on this machine; false when they can. */
export function podmanUnavailable(): string | false {
  if (getuid?.() !== 0) return 'only root may run containers'
  for (const program of ['podman', 'runc']) {
    if (!existsSync(`/usr/bin/${program}`) && !existsSync(`/usr/sbin/${program}`)) {
      return `${program} is not installed`
    }
  }
  return BUSYBOX === undefined ? 'busybox is not installed' : false
}

const CONFIGURATION = `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
exit_command_delay = 5
`

export class Podman {
  readonly dir: string
  readonly socketPath: string
  #service: ChildProcess | undefined

  /** Started, with the test image. To be closed by the caller. */
  static async open(): Promise<Podman> {
    const podman = new Podman(await mkdtemp(join(tmpdir(), 'reeve-podman-')))
    await writeFile(podman.#configurationPath, CONFIGURATION)
    await podman.start()
    await podman.importImage(TEST_IMAGE)
    return podman
  }

  constructor(dir: string) {
    this.dir = dir
    this.socketPath = join(dir, 'podman.sock')
  }

  get #configurationPath(): string {
    return join(this.dir, 'containers.conf')
  }

  /** Starts the service and waits until it answers. Its containers do not depend on it. */
  async start(): Promise<void> {
    const storage = ['--root', join(this.dir, 'root'), '--runroot', join(this.dir, 'run')]
    const args = [...storage, '--storage-driver', 'vfs', 'system', 'service', '--time=0']
    this.#service = spawn('podman', [...args, `unix://${this.socketPath}`], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: this.dir,
        CONTAINERS_CONF: this.#configurationPath,
      },
      stdio: 'ignore',
    })
    const engine = new EngineClient(this.socketPath)
    await until('podman to answer', async () => {
      const answer = await engine.call({ method: 'GET', path: '/version' }).catch(() => undefined)
      return answer?.status === 200 ? true : undefined
    })
    engine.close()
  }

  /** Ends the service alone, as a crash of the engine does. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const service = this.#service
    this.#service = undefined
    if (service === undefined || service.exitCode !== null) return
    const ended = once(service, 'exit')
    service.kill(signal)
    await ended
  }

  /** Ends the service and everything that its containers left. */
  async close(): Promise<void> {
    // Containers outlive their engine: only it can end them.
    if (this.#service === undefined) await this.start()
    await this.#removeContainers()
    await this.kill('SIGTERM')
    endLeftovers(this.dir)
    await rm(this.dir, { recursive: true, force: true, maxRetries: 5 })
  }

  async #removeContainers(): Promise<void> {
    const engine = new EngineClient(this.socketPath)
    const query = { all: 'true' }
    const { body } = await engine.call({ method: 'GET', path: '/containers/json', query })
    // The engine's own answer.
    const ids = (JSON.parse(body) as { readonly Id: string }[]).map(({ Id }) => Id)
    // One that others share the network of cannot be removed before them.
    for (const id of [...ids, ...ids]) {
      await engine.call({ method: 'DELETE', path: `/containers/${id}`, query: { force: 'true' } })
    }
    engine.close()
  }

  /** Makes the image under a further name. */
  async importImage(name: string): Promise<void> {
    const archive = join(this.dir, 'image.tar')
    if (!existsSync(archive)) await packImage(this.dir, archive)
    const [repo = '', tag = ''] = name.split(':')
    const query = `fromSrc=-&repo=${encodeURIComponent(repo)}`
    await post(this.socketPath, `/v1.41/images/create?${query}`, archive)
    // The tag in an import is ignored: it is given afterwards.
    await this.#call('POST', `/images/${encodeURIComponent(`${repo}:latest`)}/tag`, { repo, tag })
    await this.#call('DELETE', `/images/${encodeURIComponent(`${repo}:latest`)}`, {})
  }

  async #call(
    method: 'POST' | 'DELETE',
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<void> {
    const engine = new EngineClient(this.socketPath)
    const answer = await engine.call({ method, path, query })
    engine.close()
    assert.ok(isSuccess(answer), answer.body)
  }
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

async function packImage(dir: string, archive: string): Promise<void> {
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
  execFileSync('tar', ['-C', root, '-cf', archive, '.'])
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

interface TestEngine {
  readonly name: string
  readonly socketPath: string
  readonly podman: Podman
}

/**
 * One podman service, as it is and behind a proxy that answers as the Docker Engine does. Both are
 * closed by what `after` registers.
 */
export async function openEngines(
  after: (close: () => Promise<void>) => void,
): Promise<readonly TestEngine[]> {
  const podman = await Podman.open()
  const docker = await EngineProxy.open({
    socketPath: join(podman.dir, 'docker.sock'),
    target: podman.socketPath,
    manner: 'docker',
  })
  after(async () => {
    await docker.close()
    await podman.close()
  })
  return [
    { name: 'podman', socketPath: podman.socketPath, podman },
    { name: 'podman as the Docker Engine', socketPath: docker.socketPath, podman },
  ]
}
