/** A server and a node as processes of their own, and a way to end both, and all they started. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kill } from 'node:process'
import type { TestContext } from 'node:test'
import type { Allocation, Input, Job, TaskState } from '@reeve/contract'
import { createClient, type Client } from '@reeve/sdk'
import { startAgent, type AgentProcess, type AgentSurroundings } from '../e2e/program-process.ts'
import { until } from '../build/until.ts'

const JOIN_TOKEN = 'a-join-token-of-this-test'
const HELPER = join(import.meta.dirname, '../../../../node_modules/.cache/reeve/reeve-task')

/** On a machine that is busy with other tests. */
export const WITHIN_MS = 180_000

/** Why tasks cannot be isolated here; false when they can. */
export const noIsolation = existsSync(HELPER)
  ? process.getuid?.() === 0
    ? false
    : 'isolation needs root'
  : 'the task helper is not built: npm run build -- --native says why'

/** The part of a shim's handle.json that a test looks at (native/PROTOCOL.md, section 3). */
export interface TaskRecordFile {
  readonly id: string
  readonly pid: number
  readonly taskPid: number
  readonly shimPid: number
  readonly cgroups: readonly string[]
}

/** Tasks are real, so whatever is left of them is ended after the test. */
export class RealCluster {
  readonly directory: string
  readonly client: Client
  readonly address: string
  readonly #t: TestContext
  #server: AgentProcess
  #node: AgentProcess | undefined

  /** `nodeSettings` are those of the node's configuration file. */
  static async open(
    t: TestContext,
    nodeSettings = '',
    start: AgentSurroundings = {},
  ): Promise<RealCluster> {
    const directory = await mkdtemp(join(tmpdir(), 'reeve-test-'))
    // The tasks' users walk through it.
    await chmod(directory, 0o711)
    await mkdir(join(directory, 'node'), { mode: 0o711 })
    await writeFile(join(directory, 'server.hcl'), serverFile())
    await writeFile(join(directory, 'node.hcl'), nodeSettings)
    const server = startServer(t, directory, 0)
    const address = await addressOf(server)
    const cluster = new RealCluster({ t, directory, server, address })
    t.after(() => cluster.#end())
    await cluster.startNode(start)
    return cluster
  }

  constructor(parts: {
    readonly t: TestContext
    readonly directory: string
    readonly server: AgentProcess
    readonly address: string
  }) {
    this.#t = parts.t
    this.directory = parts.directory
    this.#server = parts.server
    this.address = parts.address
    this.client = createClient({ address: parts.address })
  }

  get node(): AgentProcess {
    if (this.#node === undefined) throw new Error('the node was not started')
    return this.#node
  }

  /** The node's data, as `--data-dir` has it. */
  get nodeDirectory(): string {
    return join(this.directory, 'node/client')
  }

  /** Starts the agent and waits until the server knows that it is ready. */
  async startNode(start: AgentSurroundings = {}): Promise<void> {
    this.launchNode(start)
    await until(
      'the node to be ready',
      async () => ((await this.#isNodeReady()) ? true : undefined),
      WITHIN_MS,
    ).catch((thrown: unknown) => {
      throw new Error(`the node did not come: ${this.node.output()}`, { cause: thrown })
    })
  }

  /** Starts the agent and waits for nothing. */
  launchNode(surroundings: AgentSurroundings = {}): void {
    const flags = [
      '--client',
      '--join',
      new URL(this.address).host,
      '--data-dir',
      join(this.directory, 'node'),
      '--config',
      join(this.directory, 'node.hcl'),
      '--node-name',
      'one',
      '--http-port',
      '0',
    ]
    // As it is by default; what is mounted is taken away at the end.
    const memory = { REEVE_SECRETS_IN_MEMORY: 'true' }
    const own = { REEVE_JOIN_TOKEN: JOIN_TOKEN, REEVE_RAW_EXEC: 'true', ...memory }
    const environment = { ...own, ...surroundings.environment }
    this.#node = startAgent(this.#t, flags, { ...surroundings, environment })
  }

  async killNode(): Promise<void> {
    await this.node.kill('SIGKILL')
  }

  async killServer(): Promise<void> {
    await this.#server.kill('SIGKILL')
  }

  /** On the same port: nodes know no other. */
  async startServer(): Promise<void> {
    const port = Number(new URL(this.address).port)
    this.#server = startServer(this.#t, this.directory, port)
    await addressOf(this.#server)
  }

  async #isNodeReady(): Promise<boolean> {
    const { exitCode } = this.node.child
    if (exitCode !== null) throw new Error(`it ended with ${exitCode}`)
    if (!this.node.output().includes('connected to a server')) return false
    const { data } = await this.client.v1.listNodes({})
    return data.some(({ Status }) => Status === 'ready')
  }

  async run(job: Input<Job> & { readonly ID: string }): Promise<void> {
    await this.client.v1.registerJob({ body: { Job: job } })
  }

  /** The allocations of a job, once they are as a test wants them. */
  async allocations(
    jobId: string,
    what: string,
    areReady: (rows: readonly AllocationRow[]) => boolean,
  ): Promise<readonly AllocationRow[]> {
    let seen: readonly AllocationRow[] = []
    // Told of changes: asking all the time would cost the server more than the tasks do.
    const call = { params: { job_id: jobId }, signal: AbortSignal.timeout(WITHIN_MS) }
    try {
      for await (const { data } of this.client.blocking('listJobAllocations', call)) {
        seen = data
        if (areReady(data)) return data
      }
      throw new Error('there are no more answers')
    } catch (thrown) {
      const states = seen.map((row) => {
        const events = Object.keys(row.TaskStates ?? {}).flatMap((task) => eventsOf(row, task))
        return `${row.TaskGroup} ${row.ClientStatus}: ${events.join(', ')}`
      })
      const story = `waited in vain for ${what}: ${String(thrown)}`
      throw new Error(`${story}\n${states.join('\n')}\n${this.node.output().slice(-4_000)}`, {
        cause: thrown,
      })
    }
  }

  /** The one allocation of a job with one group, once it has this status. */
  async allocation(jobId: string, status: string): Promise<AllocationRow> {
    const isThere = (row: AllocationRow): boolean => row.ClientStatus === status
    const rows = await this.allocations(jobId, `${jobId} to be ${status}`, (all) =>
      all.some(isThere),
    )
    const row = rows.find(isThere)
    if (row === undefined) throw new Error('it was there')
    return row
  }

  /** What a task wrote, through the server. */
  async log(allocationId: string, task: string, type: 'stdout' | 'stderr' = 'stdout') {
    const path = `/v1/client/fs/logs/${allocationId}?task=${task}&type=${type}&plain=true`
    const response = await fetch(`${this.address}${path}`)
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return await response.text()
  }

  /** A path below the directory of an allocation, on this machine. */
  path(allocationId: string, ...parts: readonly string[]): string {
    return join(this.nodeDirectory, 'alloc', allocationId, ...parts)
  }

  /** What the shims said of tasks that have begun and are not forgotten. */
  records(): readonly TaskRecordFile[] {
    const directory = join(this.nodeDirectory, 'agent/tasks')
    return namesIn(directory).flatMap((name) => {
      const path = join(directory, name, 'handle.json')
      if (!existsSync(path)) return []
      const record: TaskRecordFile = JSON.parse(readFileSync(path, 'utf8'))
      return [record]
    })
  }

  launcherPid(): number {
    const text = readFileSync(join(this.nodeDirectory, 'drivers/launcher.json'), 'utf8')
    const { pid }: { readonly pid: number } = JSON.parse(text)
    return pid
  }

  async #end(): Promise<void> {
    await this.#node?.kill('SIGKILL')
    await this.#server.kill('SIGKILL')
    const records = this.records()
    for (const { shimPid, pid } of records) {
      if (nameOf(shimPid).startsWith('reeve-task')) kill(shimPid, 'SIGTERM')
      else if (nameOf(pid).startsWith('reeve-task')) kill(pid, 'SIGKILL')
    }
    await until('the tasks to end', () => {
      return records.some(({ shimPid }) => isRunning(shimPid)) ? undefined : true
    })
    for (const group of records.flatMap(({ cgroups }) => cgroups)) removeGroup(group)
    unmountBelow(this.directory)
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

export type AllocationRow = Pick<
  Allocation,
  'ID' | 'ClientStatus' | 'DesiredStatus' | 'TaskGroup' | 'NodeID'
> & { readonly TaskStates: Readonly<Record<string, TaskState>> | null }

/** Whether a process with this number is there and not a zombie. */
export function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Process ids of `sleep` with exactly this length, wherever they run. */
export function sleepers(mark: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && nameOf(Number(entry)) === `sleep\0${mark}\0`)
    .map(Number)
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1')
  } catch {
    return ''
  }
}

/** The exit code of the last run of a task; undefined while it has not ended. */
export function exitCodeOf({ TaskStates }: AllocationRow, task: string): number | undefined {
  const ends = TaskStates?.[task]?.Events.filter(({ Type }) => Type === 'Terminated') ?? []
  return ends.at(-1)?.ExitCode
}

export function eventsOf({ TaskStates }: AllocationRow, task: string): readonly string[] {
  return TaskStates?.[task]?.Events.map(({ Type }) => Type) ?? []
}

function serverFile(): string {
  // A node that was killed is not down before its next start has come.
  return `join_token = "${JOIN_TOKEN}"\nclient { enabled = false }\nserver { heartbeat_grace = "2m" }\n`
}

function startServer(t: TestContext, directory: string, port: number): AgentProcess {
  const where = ['--data-dir', join(directory, 'server'), '--http-port', String(port)]
  return startAgent(t, ['--dev', ...where, '--config', join(directory, 'server.hcl')])
}

async function addressOf(server: AgentProcess): Promise<string> {
  return await until(
    'the server to say its address',
    () => {
      const { exitCode } = server.child
      if (exitCode !== null) throw new Error(`it ended with ${exitCode}: ${server.output()}`)
      return /API\s+(http:\/\/\S+)/.exec(server.output())?.[1]
    },
    WITHIN_MS,
  )
}

function namesIn(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : []
}

/** Gone already, or not empty for a moment: no matter for a test. */
function removeGroup(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    return
  }
}

function unmountBelow(directory: string): void {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point.startsWith(`${directory}/`))
  for (const point of points.toReversed()) spawnSync('umount', ['--', point])
}

/** The text of a file of an allocation; empty when it is not there yet. */
export async function textOf(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '')
}
