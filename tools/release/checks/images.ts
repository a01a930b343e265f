/** Checks 35 to 40: the images, run by podman. */
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { RUNTIME_FLAGS } from '../cache.ts'
import { run, type OpenedRelease } from '../opened.ts'
import { freePort, waitFor, withTempFolder } from './agent.ts'
import { isTool, skipped, passIf, passIfMatches, type Check, type Outcome } from './check.ts'

const USER = 10_001
const CONTAINER_MS_MAX = 90_000
/** The engine's default limits exceed those that an unprivileged machine allows. */
const LIMITS = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024']
const RESTRICTED = ['--read-only', '--cap-drop', 'all', '--tmpfs', '/tmp']

interface Container {
  readonly image: 'server' | 'node'
  readonly options: readonly string[]
  readonly args: (port: number) => readonly string[]
  /** Requests to the container while it runs; returns the result. */
  readonly use?: (address: string) => Promise<string>
}

interface EndedContainer {
  readonly said: string
  readonly code: number
}

function serverArgs(port: number): readonly string[] {
  const data = ['--data-dir', '/var/lib/reeve/server']
  return ['agent', '--server', '--bind', '127.0.0.1', '--http-port', String(port), ...data]
}

/** Runs a container until it answers and was used, or until it has ended by itself. */
async function withContainer(
  release: OpenedRelease,
  container: Container,
): Promise<EndedContainer> {
  const image = load(release, container.image)
  const port = await freePort()
  const address = `http://127.0.0.1:${port}`
  const name = `reeve-check-${port}`
  const own = ['--name', name, '--network', 'host', '--env', 'REEVE_ACL=false']
  const args = [...own, ...LIMITS, ...container.options]
  run('podman', ['run', '--detach', ...args, image, ...container.args(port)])
  const inspect = (what: string): string =>
    run('podman', ['inspect', '--format', `{{.State.${what}}}`, name]).trim()
  try {
    let used = ''
    const isReady = async (): Promise<boolean> => {
      if (inspect('Running') === 'false') return true
      const answer = await fetch(`${address}/v1/agent/health`).catch(() => undefined)
      return answer?.ok === true
    }
    await waitFor(isReady, 'the container to answer or to end', CONTAINER_MS_MAX)
    if (inspect('Running') === 'true') used = (await container.use?.(address)) ?? ''
    run('podman', ['stop', '--time', '30', name])
    const { stdout, stderr } = spawnSync('podman', ['logs', name], { encoding: 'utf8' })
    return { said: `${used}\n${stdout}${stderr}`, code: Number(inspect('ExitCode')) }
  } finally {
    run('podman', ['rm', '--force', name])
  }
}

/** The id of the image, which podman then knows. */
function load(release: OpenedRelease, image: Container['image']): string {
  const said = run('podman', ['load', '--input', imageFile(release, image)])
  return /sha256:[0-9a-f]+|localhost\/\S+/.exec(said)?.[0] ?? said.trim().split(/\s+/).at(-1) ?? ''
}

function imageFile(release: OpenedRelease, image: Container['image']): string {
  return release.file(`reeve-${image}-${release.version}-x64.oci.tar`)
}

async function withPodman(check: () => Promise<Outcome> | Outcome): Promise<Outcome> {
  if (!isTool('podman')) return skipped('podman is not installed')
  return await check()
}

function dataFolder(folder: string, owner: number): string {
  const data = join(folder, 'data')
  fs.mkdirSync(data)
  fs.chownSync(data, owner, owner)
  return data
}

export const images: readonly Check[] = [
  {
    number: 35,
    title: 'server image: read-only, without capabilities, as its own user; ends with 0',
    run: (release) =>
      withPodman(() =>
        withTempFolder(async (folder) => {
          const volume = `${dataFolder(folder, USER)}:/var/lib/reeve/server`
          const { said, code } = await withContainer(release, {
            image: 'server',
            options: [...RESTRICTED, '--volume', volume],
            args: serverArgs,
            use: async (address) => `UI ${(await fetch(`${address}/ui/`)).status}`,
          })
          const outcome = passIfMatches(said, [/^UI 200$/m], 'serves the API and the UI')
          return code === 0 ? outcome : passIf(false, `exit ${code}: ${said.slice(-400)}`)
        }),
      ),
  },
  {
    number: 36,
    title: 'server image: a volume with lost+found',
    run: (release) =>
      withPodman(() =>
        withTempFolder(async (folder) => {
          const data = dataFolder(folder, USER)
          fs.mkdirSync(join(data, 'lost+found'), { mode: 0o700 })
          const { said, code } = await withContainer(release, {
            image: 'server',
            options: [...RESTRICTED, '--volume', `${data}:/var/lib/reeve/server`],
            args: serverArgs,
          })
          return passIf(code === 0, code === 0 ? 'starts' : said.slice(-400))
        }),
      ),
  },
  {
    number: 37,
    title: "server image: a volume of root's is refused with a sentence",
    run: (release) =>
      withPodman(() =>
        withTempFolder(async (folder) => {
          const { said, code } = await withContainer(release, {
            image: 'server',
            options: [...RESTRICTED, '--volume', `${dataFolder(folder, 0)}:/var/lib/reeve/server`],
            args: serverArgs,
          })
          return code === 1
            ? passIfMatches(
                said,
                [/cannot be (?:made|created|written)|EACCES/],
                said.trim().slice(0, 200),
              )
            : passIf(false, `exit ${code}: ${said.slice(-400)}`)
        }),
      ),
  },
  {
    number: 38,
    title: 'server image: the heap follows the memory limit',
    run: (release) =>
      withPodman(() => {
        const image = load(release, 'server')
        const script =
          "console.log(require('node:v8').getHeapStatistics().heap_size_limit / 2 ** 20)"
        const limited = [
          ...LIMITS,
          '--rm',
          '--memory',
          '1024m',
          '--entrypoint',
          '/usr/lib/reeve/lib/node',
        ]
        const said = run('podman', ['run', ...limited, image, ...RUNTIME_FLAGS, '-e', script])
        const megabytes = Number(said.trim().split('\n').at(-1))
        return passIf(megabytes < 1024, `${megabytes.toFixed(0)} MB of 1024 MB`)
      }),
  },
  {
    number: 39,
    title: 'node image without rights: exec is unhealthy, with its reason',
    run: (release) =>
      withPodman(async () => {
        const { said } = await withContainer(release, {
          image: 'node',
          options: [],
          args: (port) => ['agent', '--dev', '--http-port', String(port)],
          use: async (address) => await execHealth(address),
        })
        return passIfMatches(said, [/^exec false \S+/m], /^exec .*$/m.exec(said)?.[0] ?? '')
      }),
  },
  {
    number: 40,
    title: 'two builds have the same images',
    run: (release) => {
      const other = process.env['REEVE_OTHER_BUILD']
      if (other === undefined) return skipped('name another build in REEVE_OTHER_BUILD')
      const differ = (['server', 'node'] as const).filter((image) => {
        const file = imageFile(release, image)
        const own = fs.readFileSync(file)
        return !own.equals(fs.readFileSync(file.replace(release.folder, other)))
      })
      return passIf(differ.length === 0, differ.join(', ') || 'server and node')
    },
  },
]

async function execHealth(address: string): Promise<string> {
  interface Detail {
    readonly Drivers: Readonly<Record<string, { Healthy: boolean; HealthDescription: string }>>
  }
  const get = async (path: string): Promise<unknown> =>
    await (await fetch(`${address}${path}`)).json()
  // Proof: the API document describes the list.
  const [node] = (await get('/v1/nodes')) as { ID: string }[]
  // Proof: the API document describes the node.
  const { Drivers } = (await get(`/v1/node/${node?.ID ?? ''}`)) as Detail
  const health = Drivers['exec']
  return health === undefined
    ? 'exec missing'
    : `exec ${health.Healthy} ${health.HealthDescription}`
}
