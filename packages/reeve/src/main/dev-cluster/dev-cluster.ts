import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { writeSecret } from '../secrets.ts'
import { ThrowawayPostgres } from './throwaway-postgres.ts'
import type { PostgresPrograms } from './find-postgres.ts'
import { Watchdog } from './watchdog.ts'
import { ChildAgent, type ExitInfo, type ChildAgentSpec } from './child-agent.ts'

const START_TIMEOUT_MS = 60_000
const POLL_MS = 200
/** Delay before a killed server is restarted. */
const RESTART_DELAY_MS = 8_000
/** A process that exits sooner after its start is not restarted. */
const CRASH_AGE_MS = 5_000

export interface DevClusterOptions {
  readonly serverPorts: readonly number[]
  readonly clients: number
  /** Directory of the cluster. */
  readonly directory: string
  /** Whether the directory is removed at the end, together with the tasks. */
  readonly isTemporary: boolean
  /** An existing database, or the PostgreSQL programs for a new one. */
  readonly database: { readonly url: string } | { readonly programs: PostgresPrograms }
  readonly acl: boolean
  /** Reports an event to the user. */
  readonly report: (sentence: string) => void
}

interface DevServer {
  readonly name: string
  readonly address: string
  readonly process: ChildAgent
}

/** A cluster of servers with one database, and nodes, each as a process. */
export class DevCluster {
  readonly servers: readonly DevServer[]
  readonly nodes: readonly ChildAgent[]
  /** Undefined with an existing database. */
  readonly database: ThrowawayPostgres | undefined
  readonly #options: DevClusterOptions
  readonly #watchdog: Watchdog
  readonly #leaderMonitor = new LeaderMonitor(() => performance.now())
  readonly #stopping = new AbortController()
  #monitoring: Promise<void> = Promise.resolve()
  #isDatabaseUp = true

  /** Resolves when a server leads. */
  static async start(options: DevClusterOptions): Promise<DevCluster> {
    const guard = new Watchdog()
    if (options.isTemporary) guard.removeOnExit(options.directory)
    try {
      return await DevCluster.#startGuarded(options, guard)
    } catch (thrown) {
      guard.stop()
      throw thrown
    }
  }

  static async #startGuarded(options: DevClusterOptions, guard: Watchdog): Promise<DevCluster> {
    const { directory, database: wanted } = options
    await mkdir(join(directory, 'logs'), { recursive: true, mode: 0o700 })
    const key = await readOrCreateKey(join(directory, 'cluster-key'), () => randomBytes(32))
    const database =
      'url' in wanted ? undefined : await startThrowawayPostgres(wanted.programs, options, guard)
    const url = 'url' in wanted ? wanted.url : (database?.url ?? '')
    const cluster = new DevCluster(options, { database, url, key, guard })
    try {
      await cluster.#startMembers()
      return cluster
    } catch (thrown) {
      await cluster.stop()
      throw thrown
    }
  }

  private constructor(options: DevClusterOptions, shared: SharedResources) {
    this.#options = options
    this.database = shared.database
    this.#watchdog = shared.guard
    const ended = (member: ChildAgent, ending: ExitInfo): void =>
      void this.#onMemberExit(member, ending)
    this.servers = options.serverPorts.map((port, at) => {
      const plan = serverSpec(options, shared, { port, at })
      const address = `http://127.0.0.1:${port}`
      return { name: plan.name, address, process: new ChildAgent(plan, ended) }
    })
    const joins = this.servers.map(({ address }) => new URL(address).host)
    this.nodes = Array.from(
      { length: options.clients },
      (_, at) => new ChildAgent(nodeSpec(options, shared, { at, joins }), ended),
    )
  }

  get leader(): DevServer | undefined {
    return this.servers.find(({ name }) => name === this.#leaderMonitor.leader)
  }

  /** Stops nodes first, so that servers learn how their tasks ended. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#monitoring
    await Promise.all(this.nodes.map((node) => node.stop()))
    await Promise.all(this.servers.map((server) => server.process.stop()))
    await this.database?.stop()
    this.#watchdog.stop()
  }

  async #startMembers(): Promise<void> {
    for (const { process } of this.servers) process.start()
    const untilMs = performance.now() + START_TIMEOUT_MS
    while (this.#leaderMonitor.leader === undefined || !(await allKnowLeader(this.#endpoints()))) {
      const dead = this.servers.find(({ process }) => !process.isAlive)
      if (dead !== undefined)
        throw new Fault('start', `${dead.name} did not start:\n${await logTail(dead.process)}`)
      if (performance.now() > untilMs)
        throw new Fault('start', `No server leads:\n${await logTail(this.servers[0]?.process)}`)
      await wait(POLL_MS)
      this.#leaderMonitor.observe(await this.#findLeader())
    }
    for (const node of this.nodes) node.start()
    this.#watchDatabase()
    this.#monitoring = this.#monitorLeader()
  }

  async #monitorLeader(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await wait(POLL_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      const news = this.#leaderMonitor.observe(await this.#findLeader())
      if (news !== undefined && !signal.aborted) this.#options.report(news)
    }
  }

  async #findLeader(): Promise<string | undefined> {
    return await findLeader(this.#endpoints())
  }

  #endpoints(): readonly ServerEndpoint[] {
    return this.servers.map(({ name, address, process }) => {
      return { name, host: new URL(address).host, isAlive: process.isAlive }
    })
  }

  #watchDatabase(): void {
    this.database?.onExit((how) => void this.#onDatabaseExit(how))
  }

  async #onDatabaseExit(how: string): Promise<void> {
    const { report } = this.#options
    const { signal } = this.#stopping
    this.#isDatabaseUp = false
    report(`PostgreSQL ended (${how}); it is started again in ${RESTART_DELAY_MS / 1_000} s.`)
    await wait(RESTART_DELAY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      await this.database?.restart()
      this.#isDatabaseUp = true
      this.#watchDatabase()
      report(`PostgreSQL is started again (pid ${this.database?.pid}).`)
    } catch (thrown) {
      if (!signal.aborted) report(errorMessage(thrown))
    }
  }

  async #onMemberExit(member: ChildAgent, { description, wasKilled }: ExitInfo): Promise<void> {
    const { report } = this.#options
    const { signal } = this.#stopping
    const { name, logFile } = member.spec
    if (signal.aborted) return
    // Servers that exit while the database is down are restarted.
    if (!wasKilled && this.#isDatabaseUp && member.ageMs < CRASH_AGE_MS)
      return report(`${name} ended (${description}); ${logFile} says why.`)
    report(`${name} ended (${description}); it is started again in ${RESTART_DELAY_MS / 1_000} s.`)
    await wait(RESTART_DELAY_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    member.start()
    report(`${name} is started again (pid ${member.pid}).`)
  }
}

const LOG_TAIL_CHARS = 2_000

/** Returns the end of the log of a process, because the log may be removed with the directory. */
async function logTail(member: ChildAgent | undefined): Promise<string> {
  const text = member === undefined ? '' : await readFile(member.spec.logFile, 'utf8')
  return text.slice(-LOG_TAIL_CHARS).trim()
}

interface SharedResources {
  readonly database: ThrowawayPostgres | undefined
  readonly url: string
  readonly key: string
  readonly guard: Watchdog
}

async function startThrowawayPostgres(
  programs: PostgresPrograms,
  { directory }: DevClusterOptions,
  guard: Watchdog,
): Promise<ThrowawayPostgres> {
  const logFile = join(directory, 'logs', 'postgres.log')
  return await ThrowawayPostgres.start({
    programs,
    directory: join(directory, 'postgres'),
    logFile,
    watchdog: guard,
  })
}

function serverSpec(
  { directory, acl }: DevClusterOptions,
  { url, key, guard }: SharedResources,
  { port, at }: { readonly port: number; readonly at: number },
): ChildAgentSpec {
  const name = `server-${at + 1}`
  const data = join(directory, name)
  return {
    name,
    flags: ['--server', '--data-dir', data, '--http-port', String(port), '--node-name', name],
    environment: {
      REEVE_DATABASE: url,
      REEVE_CLUSTER_KEY: key,
      REEVE_JOIN_TOKEN: deriveJoinToken(key),
      REEVE_ACL: String(acl),
    },
    directory,
    logFile: join(directory, 'logs', `${name}.log`),
    stage: 'server',
    watchdog: guard,
  }
}

/**
 * The plan of a node. With `--dev` it can run plain processes; with a temporary directory it stops
 * its tasks at its end.
 */
function nodeSpec(
  { directory, isTemporary, acl }: DevClusterOptions,
  { key, guard }: SharedResources,
  { at, joins }: { readonly at: number; readonly joins: readonly string[] },
): ChildAgentSpec {
  const name = `node-${at + 1}`
  const data = isTemporary ? [] : ['--data-dir', join(directory, name)]
  return {
    name,
    flags: [
      '--dev',
      '--node-name',
      name,
      ...joins.flatMap((server) => ['--join', server]),
      ...data,
    ],
    environment: {
      REEVE_SERVER: 'false',
      REEVE_JOIN_TOKEN: deriveJoinToken(key),
      REEVE_ACL: String(acl),
      ...(isTemporary && { TMPDIR: directory }),
    },
    directory,
    logFile: join(directory, 'logs', `${name}.log`),
    stage: 'node',
    watchdog: guard,
  }
}

/** Derives the join token, because nodes must not get the key of the servers. */
function deriveJoinToken(key: string): string {
  return createHash('sha256').update(`join token of ${key}`).digest('base64url')
}

const REQUEST_TIMEOUT_MS = 1_000

/** A server to query: `host:port`, and whether its process runs. */
interface ServerEndpoint {
  readonly name: string
  readonly host: string
  readonly isAlive: boolean
}

/** Tracks the leader and describes changes. */
export class LeaderMonitor {
  readonly #nowMs: () => number
  #leader: string | undefined
  #lostMs: number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#lostMs = nowMs()
  }

  /** Name of the leader; undefined without one. */
  get leader(): string | undefined {
    return this.#leader
  }

  /** Updates the leader; returns a message if it has changed. */
  observe(leader: string | undefined): string | undefined {
    if (leader === this.#leader) return undefined
    const before = this.#leader
    this.#leader = leader
    if (leader === undefined) {
      this.#lostMs = this.#nowMs()
      return `${before} has lost the leadership; there is no leader.`
    }
    if (before !== undefined) return `${leader} leads now.`
    const seconds = ((this.#nowMs() - this.#lostMs) / 1_000).toFixed(1)
    return `${leader} leads now (no leader for ${seconds} s).`
  }
}

/**
 * Finds the leader by querying the servers. Ignores dead ones, even if others still see their
 * lease.
 */
async function findLeader(servers: readonly ServerEndpoint[]): Promise<string | undefined> {
  const alive = servers.filter(({ isAlive }) => isAlive)
  const leaders = await Promise.all(alive.map(({ host }) => fetchLeader(host)))
  // A server that reports itself as the leader is authoritative.
  const selfDeclared = alive.find(({ host }, at) => leaders[at] === host)
  return (selfDeclared ?? alive.find(({ host }) => leaders.includes(host)))?.name
}

/** Whether all servers answer and know a leader. */
async function allKnowLeader(servers: readonly ServerEndpoint[]): Promise<boolean> {
  const leaders = await Promise.all(servers.map(({ host }) => fetchLeader(host)))
  return leaders.every((leader) => leader !== undefined)
}

async function fetchLeader(host: string): Promise<string | undefined> {
  try {
    const answer = await fetch(`http://${host}/v1/status/leader`, {
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    const leader: unknown = await answer.json()
    return typeof leader === 'string' && leader !== '' ? leader : undefined
  } catch {
    // Not started yet, stopped, or paused.
    return undefined
  }
}

/** Reads or creates the secret that servers and nodes share; it persists with the directory. */
async function readOrCreateKey(path: string, make: () => Buffer): Promise<string> {
  const known = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (known !== undefined) return known.trim()
  const made = make().toString('base64url')
  await writeSecret(path, `${made}\n`)
  return made
}
