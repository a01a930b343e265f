import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { OwnDatabase } from './own-database.ts'
import type { PostgresPrograms } from './find-postgres.ts'
import { Guard } from './guard.ts'
import { areAllLed, findLeader, LeaderWatch, type AskedServer } from './leader-watch.ts'
import { MemberProcess, type Ending, type MemberPlan } from './member-process.ts'
import { readOrMakeKey } from './shared-key.ts'

const START_MS_MAX = 60_000
const LOOK_MS = 200
/** A server that was killed is back after this time, so that the next can be killed. */
const RESTART_MS = 8_000
/** One that ends by itself sooner after its start will end again. */
const AGE_MS_MIN = 5_000

export interface DevClusterOptions {
  readonly serverPorts: readonly number[]
  readonly clients: number
  /** Where everything is kept. */
  readonly directory: string
  /** The directory goes at the end, and the tasks with it. */
  readonly isTemporary: boolean
  /** A database that is there already, or the programs of one of our own. */
  readonly database: { readonly url: string } | { readonly programs: PostgresPrograms }
  readonly acl: boolean
  /** Something happened that a person wants to know. */
  readonly tell: (sentence: string) => void
}

export interface DevServer {
  readonly name: string
  readonly address: string
  readonly process: MemberProcess
}

/** Several servers on one database, and nodes, each a process of its own. */
export class DevCluster {
  readonly servers: readonly DevServer[]
  readonly nodes: readonly MemberProcess[]
  /** Undefined when it was there before. */
  readonly database: OwnDatabase | undefined
  readonly #options: DevClusterOptions
  readonly #guard: Guard
  readonly #watch = new LeaderWatch(() => performance.now())
  readonly #stopping = new AbortController()
  #watching: Promise<void> = Promise.resolve()
  #isDatabaseThere = true

  /** Resolves when somebody leads. */
  static async start(options: DevClusterOptions): Promise<DevCluster> {
    const guard = new Guard()
    if (options.isTemporary) guard.removeAtEnd(options.directory)
    try {
      return await DevCluster.#startGuarded(options, guard)
    } catch (thrown) {
      guard.stop()
      throw thrown
    }
  }

  static async #startGuarded(options: DevClusterOptions, guard: Guard): Promise<DevCluster> {
    const { directory, database: wanted } = options
    await mkdir(join(directory, 'logs'), { recursive: true, mode: 0o700 })
    const key = await readOrMakeKey(join(directory, 'cluster-key'), () => randomBytes(32))
    const database = 'url' in wanted ? undefined : await startOwn(wanted.programs, options, guard)
    const url = 'url' in wanted ? wanted.url : (database?.url ?? '')
    const cluster = new DevCluster(options, { database, url, key, guard })
    try {
      await cluster.#begin()
      return cluster
    } catch (thrown) {
      await cluster.stop()
      throw thrown
    }
  }

  private constructor(options: DevClusterOptions, shared: Shared) {
    this.#options = options
    this.database = shared.database
    this.#guard = shared.guard
    const ended = (member: MemberProcess, ending: Ending): void => void this.#ended(member, ending)
    this.servers = options.serverPorts.map((port, at) => {
      const plan = serverPlan(options, shared, { port, at })
      const address = `http://127.0.0.1:${port}`
      return { name: plan.name, address, process: new MemberProcess(plan, ended) }
    })
    const joins = this.servers.map(({ address }) => new URL(address).host)
    this.nodes = Array.from(
      { length: options.clients },
      (_, at) => new MemberProcess(nodePlan(options, shared, { at, joins }), ended),
    )
  }

  get leader(): DevServer | undefined {
    return this.servers.find(({ name }) => name === this.#watch.leader)
  }

  /** Nodes first: their tasks end while there is somebody to tell. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#watching
    await Promise.all(this.nodes.map((node) => node.stop()))
    await Promise.all(this.servers.map((server) => server.process.stop()))
    await this.database?.stop()
    this.#guard.stop()
  }

  async #begin(): Promise<void> {
    for (const { process } of this.servers) process.start()
    const untilMs = performance.now() + START_MS_MAX
    while (this.#watch.leader === undefined || !(await areAllLed(this.#asked()))) {
      const dead = this.servers.find(({ process }) => !process.isAlive)
      if (dead !== undefined)
        throw new Fault('start', `${dead.name} did not start:\n${await lastWords(dead.process)}`)
      if (performance.now() > untilMs)
        throw new Fault('start', `No server leads:\n${await lastWords(this.servers[0]?.process)}`)
      await wait(LOOK_MS)
      this.#watch.see(await this.#findLeader())
    }
    for (const node of this.nodes) node.start()
    this.#lookAfterDatabase()
    this.#watching = this.#look()
  }

  async #look(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await wait(LOOK_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      const news = this.#watch.see(await this.#findLeader())
      if (news !== undefined && !signal.aborted) this.#options.tell(news)
    }
  }

  async #findLeader(): Promise<string | undefined> {
    return await findLeader(this.#asked())
  }

  #asked(): readonly AskedServer[] {
    return this.servers.map(({ name, address, process }) => {
      return { name, host: new URL(address).host, isAlive: process.isAlive }
    })
  }

  #lookAfterDatabase(): void {
    this.database?.onEnd((how) => void this.#databaseEnded(how))
  }

  async #databaseEnded(how: string): Promise<void> {
    const { tell } = this.#options
    const { signal } = this.#stopping
    this.#isDatabaseThere = false
    tell(`PostgreSQL ended (${how}); it is started again in ${RESTART_MS / 1_000} s.`)
    await wait(RESTART_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    try {
      await this.database?.startAgain()
      this.#isDatabaseThere = true
      this.#lookAfterDatabase()
      tell(`PostgreSQL is started again (pid ${this.database?.pid}).`)
    } catch (thrown) {
      if (!signal.aborted) tell(errorMessage(thrown))
    }
  }

  async #ended(member: MemberProcess, { how, wasKilled }: Ending): Promise<void> {
    const { tell } = this.#options
    const { signal } = this.#stopping
    const { name, logFile } = member.plan
    if (signal.aborted) return
    // Without a database no server starts: that passes.
    if (!wasKilled && this.#isDatabaseThere && member.ageMs < AGE_MS_MIN)
      return tell(`${name} ended (${how}); ${logFile} says why.`)
    tell(`${name} ended (${how}); it is started again in ${RESTART_MS / 1_000} s.`)
    await wait(RESTART_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    member.start()
    tell(`${name} is started again (pid ${member.pid}).`)
  }
}

const LAST_CHARS = 2_000

/** The end of its log, which may be removed with everything else. */
async function lastWords(member: MemberProcess | undefined): Promise<string> {
  const text = member === undefined ? '' : await readFile(member.plan.logFile, 'utf8')
  return text.slice(-LAST_CHARS).trim()
}

interface Shared {
  readonly database: OwnDatabase | undefined
  readonly url: string
  readonly key: string
  readonly guard: Guard
}

async function startOwn(
  programs: PostgresPrograms,
  { directory }: DevClusterOptions,
  guard: Guard,
): Promise<OwnDatabase> {
  const logFile = join(directory, 'logs', 'postgres.log')
  return await OwnDatabase.start({
    programs,
    directory: join(directory, 'postgres'),
    logFile,
    guard,
  })
}

function serverPlan(
  { directory, acl }: DevClusterOptions,
  { url, key, guard }: Shared,
  { port, at }: { readonly port: number; readonly at: number },
): MemberPlan {
  const name = `server-${at + 1}`
  const data = join(directory, name)
  return {
    name,
    flags: ['--server', '--data-dir', data, '--http-port', String(port), '--node-name', name],
    environment: {
      REEVE_DATABASE: url,
      REEVE_CLUSTER_KEY: key,
      REEVE_JOIN_TOKEN: joinTokenOf(key),
      REEVE_ACL: String(acl),
    },
    directory,
    logFile: join(directory, 'logs', `${name}.log`),
    stage: 'server',
    guard,
  }
}

/**
 * `--dev` lets it run plain processes. In a directory that is thrown away it takes one of its own
 * there, and so ends its tasks with itself.
 */
function nodePlan(
  { directory, isTemporary, acl }: DevClusterOptions,
  { key, guard }: Shared,
  { at, joins }: { readonly at: number; readonly joins: readonly string[] },
): MemberPlan {
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
      REEVE_JOIN_TOKEN: joinTokenOf(key),
      REEVE_ACL: String(acl),
      ...(isTemporary && { TMPDIR: directory }),
    },
    directory,
    logFile: join(directory, 'logs', `${name}.log`),
    stage: 'node',
    guard,
  }
}

/** Nodes do not get the key of the servers. */
function joinTokenOf(key: string): string {
  return createHash('sha256').update(`join token of ${key}`).digest('base64url')
}
