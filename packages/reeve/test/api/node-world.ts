import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Input, Job, Task } from '@reeve/contract'
import { WebSocket } from 'ws'
import {
  diskStorage,
  websocketDialer,
  type NodeAgent,
  type TaskDriver,
} from '../../src/agent/index.ts'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import { EvaluationLoop } from '../../src/control/index.ts'
import { MockDriver, RawExecDriver } from '../../src/drivers/index.ts'
import type { AppOptions } from '../../src/http/index.ts'
import type { AllocationRow } from '../../src/model/index.ts'
import { namespacedKey } from '../../src/state/index.ts'
import { anAgent, systemClock } from '../build/agent.ts'
import { aGroup } from '../build/index.ts'
import { atEnd } from '../build/at-end.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { createTestServer, type TestServer } from './harness.ts'

/** A real server on a port, and a real agent that dials it and runs real processes. */
export interface NodeWorld {
  readonly server: TestServer
  readonly address: string
  readonly agent: NodeAgent
  readonly driver: MockDriver
  /** Where the agent keeps everything. */
  readonly dataDir: string
  /** Registers a job of these tasks and waits until its allocation is as said. */
  readonly run: (tasks: readonly Input<Task>[], wish?: RunWish) => Promise<Run>
  /** A request over the network. */
  readonly get: (path: string, options?: GetOptions) => Promise<Got>
  /** The same, while its body is still coming. */
  readonly open: (path: string, options?: GetOptions) => Promise<IncomingMessage>
  readonly webSocket: (path: string, headers?: Readonly<Record<string, string>>) => WebSocket
}

interface RunWish {
  readonly status?: string
  readonly job?: Input<Job>
  readonly token?: string
}

interface Run {
  readonly id: string
  /** The directory of the allocation. */
  readonly directory: string
  readonly row: () => AllocationRow
}

interface GetOptions {
  readonly method?: string
  readonly token?: string
  readonly body?: unknown
}

interface Got {
  readonly status: number
  readonly text: string
  readonly type: string
}

interface WorldOptions {
  readonly aclEnabled?: boolean
  readonly limits?: AppOptions['limits']
  readonly allowsExec?: boolean
  /** A `raw_exec` driver other than the plain one. */
  readonly rawExec?: TaskDriver
  /** What the server says about itself, where it is not the usual. */
  readonly agentInfo?: Partial<AppOptions['agent']>
  /** The log of the node; none unless given. */
  readonly feed?: LogFeed
  /** Its node makes dynamic volumes: below `volumes` of its directory, by what is in `plugins`. */
  readonly hasVolumes?: boolean
  /** What is in its directory before it starts. */
  readonly prepare?: (dataDir: string) => Promise<void>
}

export async function aNodeWorld(t: TestContext, options: WorldOptions = {}): Promise<NodeWorld> {
  const dataDir = await temporaryDirectory(t)
  await options.prepare?.(dataDir)
  const server = await createTestServer({
    aclEnabled: options.aclEnabled ?? false,
    ...(options.limits !== undefined && { limits: options.limits }),
    ...(options.agentInfo !== undefined && { agent: options.agentInfo }),
    // The driver finds the processes of a task by the allocation's id in their environment: with
    // the ids of another test file it would kill the tasks of that file.
    idSeed: randomInt(2 ** 30),
  })
  const silent = (): void => undefined
  const log = { info: silent, warn: silent, error: silent }
  const loop = new EvaluationLoop({ ...server.context, broker: server.broker, log })
  loop.start()
  const address = await server.listen()
  const driver = new MockDriver({ clock: systemClock })
  const agent = anAgent({
    dial: websocketDialer([address]),
    clock: systemClock,
    drivers: [driver, options.rawExec ?? new RawExecDriver({ clock: systemClock })],
    storage: diskStorage(dataDir),
    joinToken: 'join',
    ...(options.feed === undefined ? {} : { feed: options.feed }),
    ...(options.allowsExec === undefined ? {} : { allowsExec: options.allowsExec }),
    ...(options.hasVolumes === true ? { volumes: volumesBelow(dataDir) } : {}),
  })
  // Also when the agent cannot start: a server that goes on listening would keep the file running.
  let isStarted = false
  atEnd(t, async () => {
    if (isStarted) await agent.stop({ killTasks: true })
    await server.close()
    await loop.stop()
  })
  await agent.start()
  isStarted = true
  const { store } = server.context
  const { allocations } = store.tables
  await until('the node to join', () => store.tables.nodes.find(agent.nodeId))
  let count = 0
  return {
    server,
    address,
    agent,
    driver,
    dataDir,
    async run(tasks, { status = 'running', job = {}, token } = {}) {
      const ID = job.ID ?? `job-${++count}`
      const known = new Set(allocations.keysByIndex('job', namespacedKey('default', ID)))
      const Tasks = tasks.map((task) => ({ Name: 'web', Driver: 'raw_exec', ...task }))
      const group = { ...aGroup(), Count: 1, Tasks }
      const body = { Job: { ID, TaskGroups: [group], ...job } }
      await server.ok('registerJob', { body, ...(token === undefined ? {} : { token }) })
      const rows = () => allocations.rowsByIndex('job', namespacedKey('default', ID))
      const isNew = (row: AllocationRow) => !known.has(row.ID) && row.ClientStatus === status
      const state = () => ({
        allocations: rows(),
        evaluations: [...store.tables.evaluations.rows()],
        nodes: [...store.tables.nodes.rows()],
      })
      const what = `an allocation of ${ID} that is ${status}`
      const { ID: id } = await until(what, () => rows().find(isNew), undefined, state)
      return { id, directory: join(dataDir, 'alloc', id), row: () => allocations.get(id) }
    },
    async get(path, get = {}) {
      const response = await send(address, path, get)
      const chunks: Buffer[] = []
      // A response that no encoding was set for gives Buffers.
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const type = response.headers['content-type'] ?? ''
      return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), type }
    },
    open: (path, open = {}) => send(address, path, open),
    webSocket: (path, headers = {}) =>
      new WebSocket(`${address.replace('http', 'ws')}${path}`, { headers }),
  }
}

function volumesBelow(dataDirectory: string) {
  const below = (name: string): string => join(dataDirectory, name)
  return { volumesDir: below('volumes'), pluginDir: below('plugins'), dataDirectory }
}

async function send(
  address: string,
  path: string,
  { method = 'GET', token, body }: GetOptions,
): Promise<IncomingMessage> {
  const headers = token === undefined ? {} : { 'X-Service-Token': token }
  const request = httpRequest(`${address}${path}`, { method, headers })
  request.end(typeof body === 'string' ? body : JSON.stringify(body))
  const [response] = await once(request, 'response')
  assert.ok(response !== undefined)
  return response
}

/** A task of a shell script. */
export function shell(script: string, fields: Input<Task> = {}): Input<Task> {
  return {
    Driver: 'raw_exec',
    Config: { command: '/bin/sh', args: ['-c', script] },
    RestartPolicy: { Attempts: 0, Mode: 'fail' },
    ...fields,
  }
}
