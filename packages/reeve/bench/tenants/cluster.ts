/** The cluster that both tenants share: a server and two nodes as separate processes. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createClient, type Client } from '@reeve/sdk'
import { idleJob } from '../jobs.ts'
import { startNode, startProgram, type Listening, type RunningProgram } from '../program.ts'
import type { AttackTarget } from './attack.ts'
import { ATTACK_JOB_PREFIX } from './attacker-calls.ts'
import { ATTACKER_NODE } from './attacks/nodes.ts'
import type { VictimOrder } from './victim.ts'

const VICTIM = 'victim'
const ATTACKER = 'attacker'
const JOIN_TOKEN = 'join-token-of-the-tenants-bench'
const NODES = ['node-1', 'node-2'] as const
const SEEDED_JOBS = 1_000
const VICTIM_JOBS = 200
const LOG_INTERVAL_MS = 50
const LOG_JOB = 'logged'
/** Ends with this process, because tasks outlive their agents. */
const LOG_TASK = `let line = 0
setInterval(() => console.log(++line, Date.now()), ${LOG_INTERVAL_MS})
setInterval(() => process.kill(${process.pid}, 0), 1000)`
const PAGE_BYTES = 4_096
const POLL_MS = 100
const READY_MS_MAX = 60_000
const CALL_MS_MAX = 5_000

/** Shorter than the defaults, so that a node that is silent during an attack is detected. */
const SERVER_ENVIRONMENT = {
  REEVE_JOIN_TOKEN: JOIN_TOKEN,
  REEVE_MIN_HEARTBEAT_TTL: '1s',
  REEVE_HEARTBEAT_GRACE: '4s',
  REEVE_FAILOVER_HEARTBEAT_TTL: '15s',
}
const NODE_ENVIRONMENT = {
  REEVE_JOIN_TOKEN: JOIN_TOKEN,
  REEVE_RAW_EXEC: 'true',
  REEVE_SECRETS_IN_MEMORY: 'false',
}

/** Status of each node and the time of its last change, to detect lost nodes. */
export type NodeStatuses = ReadonlyMap<string, string>

export class Cluster {
  readonly #home: string
  readonly #barePort: number
  readonly #nodes = new Map<string, Listening>()
  #server: RunningProgram
  #root = ''
  #tokens: Pick<AttackTarget, 'token' | 'userToken'> = { token: '', userToken: '' }
  #victimToken = ''

  static async start(home: string, barePort: number): Promise<Cluster> {
    const server = await startServer(home)
    const cluster = new Cluster(home, barePort, server)
    await cluster.#setUp()
    return cluster
  }

  private constructor(home: string, barePort: number, server: RunningProgram) {
    this.#home = home
    this.#barePort = barePort
    this.#server = server
  }

  get target(): AttackTarget {
    return {
      port: this.#server.port,
      barePort: this.#barePort,
      namespace: ATTACKER,
      organization: ATTACKER,
      joinToken: JOIN_TOKEN,
      ...this.#tokens,
    }
  }

  get victim(): VictimOrder {
    return {
      kind: 'start',
      port: this.#server.port,
      token: this.#victimToken,
      namespace: VICTIM,
      logJob: LOG_JOB,
      logIntervalMs: LOG_INTERVAL_MS,
    }
  }

  /** Resident bytes of the server; 0 if it has exited. */
  residentBytes(): number {
    try {
      const [, pages] = readFileSync(`/proc/${this.#server.pid}/statm`, 'latin1').split(' ')
      return Number(pages) * PAGE_BYTES
    } catch {
      return 0
    }
  }

  /** Duration of a health check in milliseconds; undefined on timeout. */
  async healthMs(): Promise<number | undefined> {
    const startMs = performance.now()
    const answer = await fetch(`${this.#server.address}/v1/agent/health`, {
      signal: AbortSignal.timeout(CALL_MS_MAX),
    }).catch(() => undefined)
    return answer?.ok === true ? performance.now() - startMs : undefined
  }

  async nodeStatuses(): Promise<NodeStatuses> {
    const { v1 } = this.#client(this.#root)
    const { data } = await v1.listNodes({})
    const statuses = new Map<string, string>()
    for (const { ID, Name } of data) {
      if (Name.startsWith(ATTACKER_NODE)) continue
      const { Status, StatusUpdatedAt } = (await v1.readNode({ params: { node_id: ID } })).data
      statuses.set(Name, `${Status} ${StatusUpdatedAt}`)
    }
    return statuses
  }

  /** Stops everything that the attacker runs. */
  async purgeAttacker(): Promise<void> {
    const client = this.#client(this.#root)
    const query = { namespace: ATTACKER, prefix: ATTACK_JOB_PREFIX }
    const { data } = await client.v1.listJobs({ query })
    for (const { ID } of data)
      await client.v1.stopJob({
        params: { job_id: ID },
        query: { namespace: ATTACKER, purge: true },
      })
  }

  /** Waits until every node is ready and the victim's task runs; false on timeout. */
  async isWhole(withinMs: number): Promise<boolean> {
    const endMs = performance.now() + withinMs
    while (performance.now() < endMs) {
      const isReady = await this.#isReady().catch(() => false)
      if (isReady) return true
      await wait(POLL_MS)
    }
    return false
  }

  async #isReady(): Promise<boolean> {
    const statuses = await this.nodeStatuses()
    if (!NODES.every((name) => statuses.get(name)?.startsWith('ready'))) return false
    const query = { namespace: VICTIM }
    const params = { job_id: LOG_JOB }
    const { data } = await this.#client(this.#root).v1.listJobAllocations({ params, query })
    return data.some(({ ClientStatus }) => ClientStatus === 'running')
  }

  /** Kills the server and restarts it on its port with its data. */
  async restartServer(): Promise<void> {
    const { port } = this.#server
    await kill(this.#server)
    this.#server = await startServer(this.#home, port)
  }

  /** Kills and restarts the agents of all nodes; their tasks continue. */
  async restartNodes(): Promise<void> {
    for (const node of this.#nodes.values()) await kill(node)
    await this.#startNodes()
  }

  async stop(): Promise<void> {
    await this.purgeAttacker().catch(() => undefined)
    const params = { job_id: LOG_JOB }
    const client = this.#client(this.#root)
    const query = { namespace: VICTIM, purge: true }
    await client.v1.stopJob({ params, query }).catch(() => undefined)
    await this.#untilNothingRuns().catch(() => undefined)
    for (const node of this.#nodes.values()) await kill(node)
    await kill(this.#server)
  }

  async #untilNothingRuns(): Promise<void> {
    const endMs = performance.now() + CALL_MS_MAX
    while (performance.now() < endMs) {
      const query = { namespace: '*' }
      const { data } = await this.#client(this.#root).v1.listAllocations({ query })
      if (data.every(({ ClientStatus }) => ClientStatus !== 'running')) return
      await wait(POLL_MS)
    }
  }

  #client(token: string): Client {
    return createClient({ address: this.#server.address, token, timeoutMs: CALL_MS_MAX })
  }

  async #setUp(): Promise<void> {
    const { data } = await this.#client('').v1.bootstrapAcl({ body: {} })
    this.#root = data.SecretID
    const [token, userToken] = [await this.#tenant(ATTACKER), await this.#user(ATTACKER)]
    this.#tokens = { token, userToken }
    this.#victimToken = await this.#tenant(VICTIM)
    await this.#seed(token, { namespace: ATTACKER, prefix: 'seed', count: SEEDED_JOBS })
    const victims = { namespace: VICTIM, prefix: VICTIM, count: VICTIM_JOBS }
    await this.#seed(this.#victimToken, victims)
    await this.#startNodes()
    await this.#startLogTask()
    if (!(await this.isWhole(READY_MS_MAX))) throw new Error('the cluster did not become ready')
  }

  /** Creates a namespace and a token with `write` on it and no other rights. */
  async #tenant(name: string): Promise<string> {
    const { v1 } = this.#client(this.#root)
    await v1.writeNamespace({ body: { Name: name } })
    // Tasks are processes without isolation, so that the benchmark does not need root.
    const Rules = `namespace "${name}" { policy = "write" capabilities = ["alloc-node-exec"] }`
    await v1.writeAclPolicy({ params: { policy_name: name }, body: { Name: name, Rules } })
    const body = { Name: name, Type: 'client' as const, Policies: [name] }
    return (await v1.createAclToken({ body })).data.SecretID
  }

  /** Creates a user who only owns an organization. */
  async #user(name: string): Promise<string> {
    const { v2 } = this.#client(this.#root)
    const attributes = { username: name, email: `${name}@example.com` }
    const user = await v2.createUser({ body: { data: { type: 'users', attributes } } })
    const params = { user_id: user.data.data.id }
    const body = { data: { type: 'authentication-tokens' as const, attributes: {} } }
    const made = await v2.createUserToken({ params, body })
    const { token } = made.data.data.attributes
    const organization = { name, email: `${name}@example.com` }
    await this.#client(token).v2.createOrganization({
      body: { data: { type: 'organizations', attributes: organization } },
    })
    return token
  }

  async #seed(token: string, { namespace, prefix, count }: Seeds): Promise<void> {
    const { v1 } = this.#client(token)
    let next = 0
    const work = async (): Promise<void> => {
      for (let at = next++; at < count; at = next++) {
        const Job = { ...idleJob(`${prefix}-${at}`), Namespace: namespace }
        await v1.registerJob({ body: { Job }, query: { namespace } })
      }
    }
    await Promise.all(Array.from({ length: 16 }, work))
  }

  async #startNodes(): Promise<void> {
    for (const name of NODES)
      this.#nodes.set(
        name,
        await startNode({
          name,
          directory: join(this.#home, name),
          serverPort: this.#server.port,
          environment: NODE_ENVIRONMENT,
        }),
      )
  }

  async #startLogTask(): Promise<void> {
    const task = {
      Name: 'main',
      Driver: 'raw_exec',
      Config: { command: process.execPath, args: ['-e', LOG_TASK] },
      Resources: { CPU: 10, MemoryMB: 64 },
      KillTimeout: 1e9,
    }
    const group = { Name: 'app', Count: 1, Tasks: [task] }
    const Job = { ID: LOG_JOB, Namespace: VICTIM, TaskGroups: [group] }
    const query = { namespace: VICTIM }
    await this.#client(this.#victimToken).v1.registerJob({ body: { Job }, query })
  }
}

interface Seeds {
  readonly namespace: string
  readonly prefix: string
  readonly count: number
}

async function startServer(home: string, port = 0): Promise<RunningProgram> {
  return await startProgram({
    directory: join(home, 'server'),
    isServer: true,
    // Warnings about a silent peer would hide the tables.
    flags: ['--log-level', 'error', ...(port === 0 ? [] : ['--http-port', String(port)])],
    environment: SERVER_ENVIRONMENT,
  })
}

/** Kills the process even if its event loop is busy. */
async function kill(child: Listening): Promise<void> {
  try {
    process.kill(child.pid, 'SIGKILL')
  } catch {
    // The process has already exited.
  }
  // Proof: `stop` reports a process that was killed as one that did not stop.
  await child.stop().catch(() => undefined)
}
