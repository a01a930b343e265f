import { readFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { startPostgres, type TestPostgres } from '../test/build/postgres.ts'
import { startProgram, type RunningProgram } from './program.ts'

const CLUSTER_KEY = 'a key for the servers of benches'
const LOOK_AGAIN_MS = 20
const LED_MS_MAX = 60_000
const TICKS_PER_SECOND = 100

/** Real servers on this machine that share one PostgreSQL. */
export class ClusterServers {
  readonly #postgres: TestPostgres
  readonly #url: string
  readonly #home: string
  #started = 0
  #servers: readonly RunningProgram[] = []

  private constructor(postgres: TestPostgres, place: { url: string; home: string }) {
    this.#postgres = postgres
    this.#url = place.url
    this.#home = place.home
  }

  static async start(count: number): Promise<ClusterServers> {
    const postgres = await startPostgres()
    const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    const cluster = new ClusterServers(postgres, { url: await postgres.newDatabase(), home })
    for (let n = 0; n < count; n++) await cluster.add()
    return cluster
  }

  get all(): readonly RunningProgram[] {
    return this.#servers
  }

  /** Resolves when the server follows or leads. */
  async add(): Promise<RunningProgram> {
    const server = await startProgram({
      directory: join(this.#home, `server-${++this.#started}`),
      isServer: true,
      environment: {
        REEVE_DATABASE: this.#url,
        REEVE_CLUSTER_KEY: CLUSTER_KEY,
        REEVE_ACL: 'false',
      },
    })
    this.#servers = [...this.#servers, server]
    await leaderAsSeenBy(server)
    return server
  }

  /** The leader and the followers. */
  async roles(): Promise<{ leader: RunningProgram; followers: readonly RunningProgram[] }> {
    const [first] = this.#servers
    if (first === undefined) throw new Error('there is no server')
    const address = await leaderAsSeenBy(first)
    const leader = this.#servers.find((server) => server.address === address)
    if (leader === undefined) throw new Error(`${address} is none of ours`)
    return { leader, followers: this.#servers.filter((server) => server !== leader) }
  }

  /** Kills the server without notifying the others. */
  kill(server: RunningProgram): void {
    this.#servers = this.#servers.filter((other) => other !== server)
    process.kill(server.pid, 'SIGKILL')
  }

  /** Stops the server gracefully. */
  async stop(server: RunningProgram): Promise<void> {
    this.#servers = this.#servers.filter((other) => other !== server)
    await server.stop()
  }

  async end(): Promise<void> {
    for (const server of this.#servers) process.kill(server.pid, 'SIGKILL')
    await this.#postgres.stop()
    await rm(this.#home, { recursive: true, force: true, maxRetries: 20 })
  }
}

async function leaderAsSeenBy({ address }: RunningProgram): Promise<string> {
  const untilMs = performance.now() + LED_MS_MAX
  while (performance.now() < untilMs) {
    const answer = await fetch(`${address}/v1/status/leader`)
    // Proof: the response is a string, empty without a leader.
    const leader = (await answer.json()) as string
    if (leader !== '') return `http://${leader}`
    await wait(LOOK_AGAIN_MS)
  }
  throw new Error('nobody leads')
}

/** Total CPU time of a process, all threads. */
export async function cpuSecondsOf({ pid }: { readonly pid: number }): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // proc(5): fields 14 and 15, counted after the name, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
