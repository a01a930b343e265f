// tidy-allow vendor: the stand-in for the tool has its name and prints its fields
import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { aTar } from '../build/archive.ts'
import { freePort } from '../build/free-port.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent, type AgentProcess } from './program-process.ts'

const JOIN_TOKEN = 'a-join-token-of-this-test'

/**
 * Stands in for the tool. Each phase writes its process IDs into the directory that the
 * configuration names, and continues when a file appears there. An apply writes its state before
 * that, once more when it is interrupted, and at its end.
 */
const TOOL = `#!/bin/sh
state() {
  resources=""
  for name in $2; do
    resources="$resources,{\\"mode\\":\\"managed\\",\\"type\\":\\"data\\",\\"name\\":\\"$name\\",\\"instances\\":[{}]}"
  done
  printf '{"version":4,"terraform_version":"9.9.9","serial":%s,"lineage":"%s","outputs":{},"resources":[%s]}' \\
    "$1" "$(cat lineage)" "\${resources#,}" > next.tfstate
  mv next.tfstate terraform.tfstate
}
pause() {
  echo "$PPID" > "$gate/$1.runner"
  echo "$$" > "$gate/$1.starting"
  mv "$gate/$1.starting" "$gate/$1.tool"
  until [ -e "$gate/$1.go" ]; do sleep 0.05; done
}
case "$1 $2" in
"version -json") echo '{"terraform_version":"9.9.9"}' ;;
version*) echo "Stand-in v9.9.9" ;;
plan*)
  gate=$(cat gate)
  echo planned >> "$gate/plans"
  pause plan
  echo plan > reeve.tfplan
  exit 2 ;;
"show -json") echo '{"format_version":"1.2","resource_changes":[{"address":"data.a","mode":"managed","type":"data","name":"a","change":{"actions":["create"],"before":null,"after":{},"after_unknown":{}}}]}' ;;
providers*) echo '{"format_version":"1.0"}' ;;
apply*)
  gate=$(cat gate)
  echo applied >> "$gate/applies"
  trap 'state 2 "first interrupted"; exit 1' INT
  state 1 first
  pause apply
  state 3 "first second" ;;
esac
`

export interface RecoveryWorld {
  /** Ends the agent of the node without its tasks, and starts it again. */
  restartNode(): Promise<void>
  /** Ends the server, and starts it again with these variables. */
  restartServer(variables?: Readonly<Record<string, string>>): Promise<void>
  stopNode(): Promise<void>
  startNode(): Promise<void>
  api(method: string, path: string, body?: unknown): Promise<ApiAnswer>
  /** Creates a workspace and a run of it, whose plan has started. */
  planning(name: string): Promise<WorldRun>
  /** The same, whose apply has started and stored its first state. */
  applying(name: string): Promise<WorldRun>
}

/** One run and what its stand-in wrote. */
export interface WorldRun {
  readonly workspace: string
  readonly runId: string
  /** Process of the tool or of its runner. */
  pid(phase: 'plan' | 'apply', of: 'tool' | 'runner'): Promise<number>
  go(phase: 'plan' | 'apply'): Promise<void>
  /** How often the tool was started for this phase. */
  starts(phase: 'plan' | 'apply'): Promise<number>
  untilStatus(status: string): Promise<Readonly<Record<string, unknown>>>
  confirm(): Promise<void>
  /** Serial of the current state; 0 if there is none. */
  serial(): Promise<number>
  lock(): Promise<readonly [locked: unknown, reason: unknown]>
}

interface ApiAnswer {
  readonly status: number
  readonly text: string
  readonly data: ApiResource & readonly ApiResource[]
}

interface ApiResource {
  readonly id: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly relationships: Readonly<Record<string, { data: { id: string } | null }>>
}

const LINEAGE = '2b0d3a9e-51a3-0d2c-8f52-0c3d5c6a7b8e'

export async function aRecoveryWorld(t: TestContext): Promise<RecoveryWorld> {
  const folder = await temporaryDirectory(t)
  const processes = await startProcesses(t, folder)
  const { api } = processes
  const attributes = { name: 'acme', email: 'a@example.com' }
  await api('POST', '/organizations', { data: { type: 'organizations', attributes } })
  const world: RecoveryWorld = {
    ...processes,
    async planning(name) {
      const gate = join(folder, 'gates', name)
      await mkdir(gate, { recursive: true })
      const run = newRun(api, await queueRun(api, name, gate), gate)
      await run.pid('plan', 'tool')
      return run
    },
    async applying(name) {
      const run = await world.planning(name)
      await run.go('plan')
      await run.untilStatus('planned')
      await run.confirm()
      await run.pid('apply', 'tool')
      await until('the first state', async () => ((await run.serial()) === 1 ? true : undefined))
      return run
    },
  }
  return world
}

type Api = RecoveryWorld['api']

async function startProcesses(t: TestContext, folder: string) {
  const port = await freePort()
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'terraform'), TOOL)
  await chmod(join(bin, 'terraform'), 0o755)
  const address = `http://127.0.0.1:${port}`
  const serverFlags = ['--dev', '--http-port', String(port), '--data-dir', join(folder, 'server')]
  const startServer = (variables: Readonly<Record<string, string>> = {}): AgentProcess =>
    startAgent(t, serverFlags, {
      environment: {
        REEVE_CLIENT: 'false',
        REEVE_JOIN_TOKEN: JOIN_TOKEN,
        REEVE_HEARTBEAT_GRACE: '2m',
        XDG_CONFIG_HOME: join(folder, '.config'),
        ...variables,
      },
    })
  const startNode = (): AgentProcess =>
    startAgent(t, ['--client', '--join', `127.0.0.1:${port}`, '--data-dir', join(folder, 'node')], {
      environment: {
        REEVE_JOIN_TOKEN: JOIN_TOKEN,
        REEVE_RAW_EXEC: 'true',
        PATH: `${bin}:${process.env['PATH'] ?? ''}`,
      },
    })
  let server = startServer()
  let node = startNode()
  const token = await until('the token', () => {
    if (server.child.exitCode !== null) throw new Error(`it ended: ${server.output()}`)
    return /Authorization: Bearer (\S+)/.exec(server.output())?.[1]
  })
  const api: Api = async (method, path, body) => {
    const url = path.startsWith('http') ? path : `${address}/api/v2${path}`
    const isBinary = Buffer.isBuffer(body)
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': isBinary ? 'application/octet-stream' : 'application/vnd.api+json',
      },
      ...(body === undefined ? {} : { body: isBinary ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, text, data: isJson ? JSON.parse(text).data : undefined }
  }
  const untilNode = async (status: string): Promise<void> => {
    await until(`the node to be ${status}`, async () => {
      const response = await fetch(`${address}/v1/nodes`).catch(() => undefined)
      const text = response?.status === 200 ? await response.text() : '[]'
      // The contract guarantees the form of the response.
      const nodes = JSON.parse(text) as readonly { readonly Status: string }[]
      return nodes.some(({ Status }) => Status === status) ? true : undefined
    })
  }
  await untilNode('ready')
  return {
    api,
    async restartNode() {
      await node.kill('SIGKILL')
      node = startNode()
    },
    async restartServer(variables = {}) {
      await server.kill('SIGKILL')
      server = startServer(variables)
      await untilNode('ready')
    },
    async stopNode() {
      await node.kill('SIGKILL')
      await untilNode('down')
    },
    async startNode() {
      node = startNode()
      await untilNode('ready')
    },
  } satisfies Omit<RecoveryWorld, 'planning' | 'applying'>
}

/** A workspace with a configuration of the stand-in, and a run of it. */
async function queueRun(api: Api, name: string, gate: string) {
  const workspace = await api('POST', '/organizations/acme/workspaces', {
    data: { type: 'workspaces', attributes: { name } },
  })
  const { id } = workspace.data
  const configuration = await api('POST', `/workspaces/${id}/configuration-versions`, {
    data: { type: 'configuration-versions', attributes: { 'auto-queue-runs': false } },
  })
  const files = aTar([
    { path: 'main.tf', text: '' },
    { path: 'gate', text: gate },
    { path: 'lineage', text: LINEAGE },
  ])
  const upload = String(configuration.data.attributes['upload-url'])
  assert.equal((await api('PUT', upload, gzipSync(files))).status, 200)
  const related = (type: string, data: ApiResource) => ({ data: { type, id: data.id } })
  const run = await api('POST', '/runs', {
    data: {
      type: 'runs',
      attributes: {},
      relationships: {
        workspace: related('workspaces', workspace.data),
        'configuration-version': related('configuration-versions', configuration.data),
      },
    },
  })
  assert.equal(run.status, 201, run.text)
  return { workspace: id, runId: run.data.id }
}

function newRun(
  api: Api,
  { workspace, runId }: Pick<WorldRun, 'workspace' | 'runId'>,
  gate: string,
): WorldRun {
  const readGate = (name: string): Promise<string> =>
    readFile(join(gate, name), 'utf8').catch(() => '')
  return {
    workspace,
    runId,
    pid: async (phase, of) => {
      await until(
        `the tool of the ${phase}`,
        async () => (await readGate(`${phase}.tool`)) || undefined,
      )
      return Number(await readGate(`${phase}.${of}`))
    },
    go: (phase) => writeFile(join(gate, `${phase}.go`), ''),
    starts: async (phase) => {
      const text = await readGate(phase === 'plan' ? 'plans' : 'applies')
      return text.split('\n').length - 1
    },
    async untilStatus(status) {
      let latest: unknown
      return await until(
        `the run to be ${status}`,
        async () => {
          const { data } = await api('GET', `/runs/${runId}`)
          latest = data.attributes
          return data.attributes['status'] === status ? data.attributes : undefined
        },
        undefined,
        () => latest,
      )
    },
    async confirm() {
      const { status, text } = await api('POST', `/runs/${runId}/actions/apply`, {})
      assert.equal(status, 202, text)
    },
    async serial() {
      const { data } = await api('GET', `/workspaces/${workspace}/current-state-version`)
      return Number(data?.attributes?.['serial'] ?? 0)
    },
    async lock() {
      const { data } = await api('GET', `/workspaces/${workspace}`)
      return [data.attributes['locked'], data.attributes['locked-reason']]
    },
  }
}
