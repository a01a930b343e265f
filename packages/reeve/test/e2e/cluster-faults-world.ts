import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Random } from '@reeve/kit/clock.ts'
import { atEnd } from '../build/at-end.ts'
import { startPostgres, type TestPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { leaderOf, startServer, type ServerPlace, type ServerProcess } from './cluster-process.ts'
import { processesUnder } from './process-tree.ts'
import { startAgent } from './program-process.ts'

const NAMES = ['a', 'b', 'c'] as const
const PAUSE_MS_MAX = 6_000
const REST_MS_MAX = 1_500
const HEALED_MS_MAX = 120_000
const PROMPT_MS = 300
/** Of three servers and a database; somebody has to be left. */
const AT_ONCE_MAX = 2

interface Faulty {
  readonly t: TestContext
  readonly random: Random
  /** Told of each fault when it begins. */
  readonly onFault: () => void
}

/** Three real servers, a real database and a real node, and what is done to them. */
export class FaultWorld {
  readonly servers: ServerProcess[] = []
  /** Where tasks leave their marks. */
  readonly marks: string
  /** What was done, for whoever looks at a failure. */
  readonly said: string[] = []
  readonly #faulty: Faulty
  readonly #postgres: TestPostgres
  readonly #places: readonly ServerPlace[]

  static async start(faulty: Faulty): Promise<FaultWorld> {
    const { t } = faulty
    const postgres = await startPostgres()
    atEnd(t, () => postgres.stop())
    const directory = await temporaryDirectory(t)
    const url = await postgres.newDatabase()
    const places = NAMES.map((name) => ({ url, directory, name }))
    const world = new FaultWorld(faulty, { postgres, places, directory })
    for (const place of places) world.servers.push(await startServer(t, place))
    await world.#startNode(directory)
    return world
  }

  private constructor(
    faulty: Faulty,
    parts: { postgres: TestPostgres; places: readonly ServerPlace[]; directory: string },
  ) {
    this.#faulty = faulty
    this.#postgres = parts.postgres
    this.#places = parts.places
    this.marks = join(parts.directory, 'marks')
  }

  async #startNode(directory: string): Promise<void> {
    const [first] = this.servers
    if (first === undefined) throw new Error('there are servers')
    const joins = this.servers.flatMap(({ address }) => ['--join', new URL(address).host])
    startAgent(
      this.#faulty.t,
      ['--client', '--data-dir', join(directory, 'node'), '--node-name', 'n', ...joins],
      {
        environment: {
          REEVE_JOIN_TOKEN: await readFile(join(first.dataDirectory, 'server/join-token'), 'utf8'),
          REEVE_RAW_EXEC: 'true',
        },
      },
    )
    await until(
      'the node to be ready',
      async () => {
        const { data } = await first.client.v1.listNodes({})
        return data.some(({ Status }) => Status === 'ready') ? true : undefined
      },
      HEALED_MS_MAX,
    )
  }

  /**
   * Injects faults, also at the same time, until the time is up, then waits for a leader. A fault
   * that cannot be undone, such as a server that does not start again, ends it with the reason.
   */
  async live(forMs: number): Promise<void> {
    const endMs = performance.now() + forMs
    const underWay = new Map<string, Promise<void>>()
    const failures: unknown[] = []
    while (performance.now() < endMs && failures.length === 0) {
      await wait(this.#below(REST_MS_MAX))
      const { target, strike } = await this.#draw()
      if (underWay.has(target) || underWay.size >= AT_ONCE_MAX) continue
      underWay.set(
        target,
        strike()
          .catch((thrown: unknown) => void failures.push(thrown))
          .finally(() => underWay.delete(target)),
      )
    }
    await Promise.all(underWay.values())
    if (failures.length > 0) throw new AggregateError(failures, `after ${this.said.join(', ')}`)
    await until(
      'a leader that everybody knows',
      async () => {
        const leaders = await Promise.all(this.servers.map(leaderOf))
        return leaders.every((leader) => leader !== undefined && leader === leaders[0])
          ? true
          : undefined
      },
      HEALED_MS_MAX,
    )
  }

  async #draw(): Promise<{ readonly target: string; readonly strike: () => Promise<void> }> {
    const draw = this.#faulty.random.next()
    if (draw < 0.15) return { target: 'database', strike: () => this.#restartDatabase() }
    if (draw < 0.3) return { target: 'database', strike: () => this.#pauseDatabase() }
    const n = await this.#pick()
    const target = NAMES[n] ?? ''
    if (draw < 0.6) return { target, strike: () => this.#kill(n) }
    return { target, strike: () => this.#pause(n) }
  }

  /** Mostly the one that matters. */
  async #pick(): Promise<number> {
    const any = this.#below(this.servers.length)
    const asked = this.servers[any]
    if (asked === undefined || this.#faulty.random.next() < 0.3) return any
    const leader = await promptly(leaderOf(asked))
    const found = this.servers.findIndex(({ address }) => address === leader)
    return found < 0 ? any : found
  }

  /** Ends it at once, and starts it again at the same address. */
  async #kill(n: number): Promise<void> {
    const [server, place] = [this.servers[n], this.#places[n]]
    if (server === undefined || place === undefined) return
    this.#say(`kill ${place.name}`)
    await server.kill('SIGKILL')
    await wait(this.#below(PAUSE_MS_MAX))
    const port = Number(new URL(server.address).port)
    // It waits for a database that is away.
    this.servers[n] = await startServer(this.#faulty.t, { ...place, port })
  }

  async #pause(n: number): Promise<void> {
    const child = this.servers[n]?.child
    const lastsMs = this.#below(PAUSE_MS_MAX)
    this.#say(`pause ${NAMES[n]} for ${lastsMs} ms`)
    child?.kill('SIGSTOP')
    await wait(lastsMs)
    child?.kill('SIGCONT')
  }

  async #restartDatabase(): Promise<void> {
    this.#say('kill the database')
    await this.#postgres.kill()
    await wait(this.#below(REST_MS_MAX))
    await this.#postgres.start()
  }

  /** Every process of it sleeps: connections stay open and nobody answers. */
  async #pauseDatabase(): Promise<void> {
    const lastsMs = this.#below(PAUSE_MS_MAX)
    this.#say(`pause the database for ${lastsMs} ms`)
    const pidFile = await readFile(join(this.#postgres.root, 'data/postmaster.pid'), 'utf8')
    const processes = await processesUnder(Number(pidFile.split('\n')[0]))
    for (const pid of processes) signal(pid, 'SIGSTOP')
    await wait(lastsMs)
    for (const pid of processes) signal(pid, 'SIGCONT')
  }

  #below(max: number): number {
    return Math.floor(this.#faulty.random.next() * max)
  }

  #say(what: string): void {
    this.said.push(what)
    this.#faulty.onFault()
  }
}

/** Who is paused does not answer. */
async function promptly<T>(asked: Promise<T>): Promise<T | undefined> {
  return await Promise.race([asked.catch(() => undefined), wait(PROMPT_MS, undefined)])
}

/** A process that has ended meanwhile is left alone. */
function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name)
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown) || thrown.code !== 'ESRCH') throw thrown
  }
}
