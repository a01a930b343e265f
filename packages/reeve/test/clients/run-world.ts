import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { AUTHORITY_FILE, certificate, certificateFiles } from '../build/certificates.ts'
import { freePort } from '../build/free-port.ts'
import { secureFetch } from '../build/secure-fetch.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startReeve, type AgentProcess } from '../e2e/program-process.ts'

const START_MS_MAX = 60_000

/** A server and a node in one process, with TLS, and an organization `acme`. */
export interface RunWorld {
  readonly host: string
  /** Directory of everything that the server and the node store. */
  readonly dataDirectory: string
  /** Calls the API as the site administrator; gives the document. */
  api(method: string, path: string, body?: unknown): Promise<ApiAnswer>
  /** Reads a text from a path of the server, or from an address that it gave. */
  text(path: string): Promise<string>
  bytes(path: string): Promise<Buffer>
  /** A workspace of the tool, with this text as its configuration below the `cloud` block. */
  workspace(name: string, text: string, options?: DirectoryOptions): Promise<RunDirectory>
  /** The same, after `init`. */
  initialized(name: string, text: string, options?: DirectoryOptions): Promise<RunDirectory>
  /** The newest run of a workspace, optionally of those with this status. */
  findRun(workspace: string, status?: string): Promise<ApiResource | undefined>
  untilRun(workspace: string, status: string): Promise<ApiResource>
  /** Kills the server with its agent, and starts both on the same data. */
  restart(): Promise<void>
}

export interface DirectoryOptions {
  /** The older kind of backend, whose clients do not read structured logs. */
  readonly backend?: 'cloud' | 'remote'
  /** Instead of the token of the site administrator. */
  readonly token?: string
  /** Name of the workspace, if it is not that of the directory. */
  readonly workspace?: string
  /** Further variables of the environment. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface ApiAnswer {
  readonly status: number
  readonly json: ApiDocument
}

export interface ApiDocument {
  readonly data: ApiResource & readonly ApiResource[]
}

export interface ApiResource {
  readonly id: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly relationships: Readonly<Record<string, { data: { id: string } | null }>>
}

export interface RunDirectory {
  readonly name: string
  readonly path: string
  start(...args: readonly string[]): RunningTool
  run(...args: readonly string[]): Promise<ToolEnd>
}

export interface RunningTool {
  readonly output: () => string
  say(text: string): void
  kill(signal: NodeJS.Signals): void
  readonly ended: Promise<ToolEnd>
}

export interface ToolEnd {
  readonly code: number | null
  readonly output: string
}

export async function aRunWorld(t: TestContext): Promise<RunWorld> {
  const folder = await temporaryDirectory(t)
  const port = await freePort()
  const address = `https://localhost:${port}`
  const fetchSecurely = secureFetch({ ca: certificate('user').ca })
  let agent = startAgent(t, folder, port)
  const healthy = async (): Promise<void> => {
    await until(
      'the server to answer',
      async () => {
        if (agent.child.exitCode !== null) throw new Error(`it ended: ${agent.output()}`)
        const answer = await fetchSecurely(`${address}/v1/agent/health`).catch(() => undefined)
        return answer?.status === 200 ? true : undefined
      },
      START_MS_MAX,
    )
  }
  await healthy()
  const token = await until('the token', () => {
    return /Authorization: Bearer (\S+)/.exec(agent.output())?.[1]
  })
  const api: RunWorld['api'] = async (method, path, body) => {
    const answer = await fetchSecurely(`${address}/api/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
  }
  const organization = { name: 'acme', email: 'a@example.com' }
  await api('POST', '/organizations', {
    data: { type: 'organizations', attributes: organization },
  })
  const host = `localhost:${port}`
  const configFile = join(folder, 'cli.tfrc')
  await writeFile(configFile, credentials(host, token))
  const settings = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    SSL_CERT_FILE: AUTHORITY_FILE,
    TF_CLI_CONFIG_FILE: configFile,
    CHECKPOINT_DISABLE: '1',
  }
  const world: RunWorld = {
    host,
    dataDirectory: join(folder, 'data'),
    api,
    text: async (path) => (await world.bytes(path)).toString('utf8'),
    async bytes(path) {
      const url = path.startsWith('https:') ? path : `${address}${path}`
      const headers = url.includes('/run-logs/') ? {} : { authorization: `Bearer ${token}` }
      return Buffer.from(await (await fetchSecurely(url, { headers })).arrayBuffer())
    },
    async workspace(name, text, options = {}) {
      const { backend = 'cloud', token: ownToken, environment = {}, workspace = name } = options
      const path = join(folder, name)
      await mkdir(path, { recursive: true })
      const block = backendBlock(backend, host, workspace)
      await writeFile(join(path, 'main.tf'), `terraform {\n${block}\n}\n${text}\n`)
      const env = { ...settings, ...environment }
      if (ownToken !== undefined) {
        env.TF_CLI_CONFIG_FILE = join(folder, `${name}.tfrc`)
        await writeFile(env.TF_CLI_CONFIG_FILE, credentials(host, ownToken))
      }
      const start: RunDirectory['start'] = (...args) => startTool(path, env, args)
      return { name, path, start, run: (...args) => start(...args).ended }
    },
    async initialized(name, text, options) {
      const directory = await world.workspace(name, text, options)
      const { code, output } = await directory.run('init', '-no-color')
      assert.equal(code, 0, output)
      return directory
    },
    async findRun(name, status) {
      const workspace = await api('GET', `/organizations/acme/workspaces/${name}`)
      const runs = await api('GET', `/workspaces/${workspace.json.data.id}/runs`)
      return runs.json.data.find(
        ({ attributes }) => status === undefined || attributes['status'] === status,
      )
    },
    untilRun: (name, status) =>
      until(`a run of ${name} to be ${status}`, () => world.findRun(name, status)),
    async restart() {
      await agent.kill('SIGKILL')
      agent = startAgent(t, folder, port)
      await healthy()
    },
  }
  return world
}

function credentials(host: string, token: string): string {
  return `credentials "${host}" { token = "${token}" }\n`
}

function backendBlock(backend: 'cloud' | 'remote', host: string, name: string): string {
  const head = backend === 'cloud' ? 'cloud {' : 'backend "remote" {'
  return `${head}\nhostname = "${host}"\norganization = "acme"\nworkspaces { name = "${name}" }\n}`
}

function startAgent(t: TestContext, folder: string, port: number): AgentProcess {
  const { certFile, keyFile } = certificateFiles('server')
  const flags = ['--http-port', String(port), '--data-dir', join(folder, 'data')]
  return startReeve(t, ['agent', '--dev', ...flags], {
    environment: {
      REEVE_TLS_HTTP: 'true',
      REEVE_TLS_CA_FILE: AUTHORITY_FILE,
      REEVE_TLS_CERT_FILE: certFile,
      REEVE_TLS_KEY_FILE: keyFile,
      XDG_CONFIG_HOME: join(folder, '.config'),
    },
  })
}

function startTool(
  cwd: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): RunningTool {
  const child = spawn('terraform', args, { cwd, env, stdio: 'pipe' })
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8')
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  const { promise: ended, resolve, reject } = Promise.withResolvers<ToolEnd>()
  child.once('error', reject)
  child.once('close', (code) => resolve({ code, output }))
  return {
    output: () => output,
    say: (text) => void child.stdin.write(text),
    kill: (signal) => void child.kill(signal),
    ended,
  }
}
