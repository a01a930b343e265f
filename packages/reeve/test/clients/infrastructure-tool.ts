import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { AUTHORITY_FILE, certificate, certificateFiles } from '../build/certificates.ts'
import { freePort } from '../build/free-port.ts'
import { secureFetch } from '../build/secure-fetch.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startReeve } from '../e2e/program-process.ts'

/** Where the tool is; undefined on a machine without it. */
function findTool(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders
    .map((folder) => join(folder, 'terraform'))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

const TOOL = findTool()

/** For tests that need the tool. */
export const SKIPPED = TOOL === undefined ? 'terraform is not installed on this machine' : false

/** What the tool printed, and how it ended. */
export interface ToolOutcome {
  readonly code: number
  readonly output: string
}

export interface ToolWorld {
  readonly host: string
  readonly address: string
  /** The management token. */
  readonly root: string
  /** Calls the API as the site administrator. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; json: unknown }>
  /** A directory with these files, in which the tool runs. */
  directory(name: string, files: Readonly<Record<string, string>>): Promise<ToolDirectory>
}

export interface ToolDirectory {
  readonly path: string
  run(...args: readonly string[]): Promise<ToolOutcome>
  /** The same with variables of the environment. */
  runWith(
    environment: Readonly<Record<string, string>>,
    ...args: readonly string[]
  ): Promise<ToolOutcome>
  /** Runs a command that asks, with the answers as its standard input. */
  answer(call: AnsweredCall): Promise<ToolOutcome>
}

export interface AnsweredCall {
  readonly args: readonly string[]
  /** One for each prompt. */
  readonly answers: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

const RUN_MS_MAX = 60_000
/** Large states are printed. */
const OUTPUT_BYTES_MAX = 128 * 1024 * 1024

/** A server with TLS, as the tool needs it, and an organization `acme` with local execution. */
export async function aToolWorld(
  t: TestContext,
  serverEnvironment: Readonly<Record<string, string>> = {},
): Promise<ToolWorld> {
  const folder = await temporaryDirectory(t)
  const port = await freePort()
  const { certFile, keyFile } = certificateFiles('server')
  startReeve(t, ['agent', '--config', await writeConfig(folder, port)], {
    environment: {
      REEVE_TLS_HTTP: 'true',
      REEVE_TLS_CA_FILE: AUTHORITY_FILE,
      REEVE_TLS_CERT_FILE: certFile,
      REEVE_TLS_KEY_FILE: keyFile,
      XDG_CONFIG_HOME: join(folder, '.config'),
      ...serverEnvironment,
    },
  })
  const address = `https://localhost:${port}`
  const fetchSecurely = secureFetch({ ca: certificate('user').ca })
  const isHealthy = async (): Promise<true | undefined> => {
    const answer = await fetchSecurely(`${address}/v1/agent/health`).catch(() => undefined)
    return answer?.status === 200 ? true : undefined
  }
  await until('the server to answer', isHealthy, RUN_MS_MAX)
  const client: Client = createClient({ address, fetch: fetchSecurely })
  const { data } = await client.v1.bootstrapAcl({ body: {} })
  const root = data.SecretID
  const api: ToolWorld['api'] = async (method, path, body) => {
    const answer = await fetchSecurely(`${address}/api/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${root}`, 'content-type': 'application/vnd.api+json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) }
  }
  const settings = { name: 'acme', email: 'a@example.com', 'default-execution-mode': 'local' }
  await api('POST', '/organizations', { data: { type: 'organizations', attributes: settings } })
  const host = `localhost:${port}`
  return {
    host,
    address,
    root,
    api,
    async directory(name, files) {
      const path = join(folder, name)
      await mkdir(path, { recursive: true })
      for (const [file, text] of Object.entries(files)) await writeFile(join(path, file), text)
      const environment = await toolEnvironment({ folder, host, root })
      const runWith: ToolDirectory['runWith'] = (more, ...args) =>
        runTool(path, { ...environment, ...more }, args)
      return {
        path,
        runWith,
        run: (...args) => runWith({}, ...args),
        answer: ({ args, answers, environment: more }) =>
          runTool(path, { ...environment, TF_INPUT: '1', ...more }, args, answers),
      }
    },
  }
}

async function writeConfig(folder: string, port: number): Promise<string> {
  const file = join(folder, 'reeve.hcl')
  const text = `data_dir = ${JSON.stringify(join(folder, 'data'))}
ports { http = ${port} }
server { enabled = true }
acl { enabled = true }
`
  await writeFile(file, text)
  return file
}

interface ToolAccess {
  readonly folder: string
  readonly host: string
  readonly root: string
}

async function toolEnvironment({ folder, host, root }: ToolAccess) {
  const file = join(folder, 'cli.tfrc')
  await writeFile(file, `credentials "${host}" { token = "${root}" }\n`)
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    SSL_CERT_FILE: AUTHORITY_FILE,
    TF_CLI_CONFIG_FILE: file,
    TF_IN_AUTOMATION: '1',
    TF_INPUT: '0',
    CHECKPOINT_DISABLE: '1',
    NO_COLOR: '1',
  }
}

function runTool(
  cwd: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  answers: readonly string[] = [],
): Promise<ToolOutcome> {
  return new Promise((resolve, reject) => {
    if (TOOL === undefined) return reject(new Error('the tool is not installed'))
    const options = {
      cwd,
      env,
      timeout: RUN_MS_MAX,
      killSignal: 'SIGKILL',
      maxBuffer: OUTPUT_BYTES_MAX,
    } as const
    const child = execFile(TOOL, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      resolve({ code: typeof code === 'number' ? code : 1, output: stdout + stderr })
    })
    const remaining = [...answers]
    if (remaining.length === 0) child.stdin?.end()
    child.stdout?.on('data', (text: string) => {
      // Answers that are sent before their prompt are lost.
      if (text.includes('Enter a value:')) child.stdin?.write(`${remaining.shift() ?? ''}\n`)
    })
  })
}
