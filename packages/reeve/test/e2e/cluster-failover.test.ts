/**
 * Real servers on a PostgreSQL with a streaming standby, which is promoted with and without all
 * commits while servers are paused. A part of every run of the tests; for longer, with a failover
 * after the other: `npm run faults -- --minutes 5 [--seed 7]`.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Random } from '@reeve/kit/clock.ts'
import { atEnd } from '../build/at-end.ts'
import { Experiment } from '../build/experiment.ts'
import { seededRandom } from '../build/ids.ts'
import { startPostgres, startStandby, whyNoPostgres, type TestPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { leaderOf, startServer, type ServerProcess } from './cluster-process.ts'

const DATABASE = 'reeve_failover'
const WAIT_MS_MAX = 180_000
const KINDS = ['without a loss', 'with a loss'] as const

const experiment = Experiment.fromArguments()
const skip = experiment.skipIf(whyNoPostgres())

test(
  'cluster: servers find the primary after a failover, and show what it has',
  { skip, timeout: experiment.durationMs(0) + 600_000 },
  async (t) => {
    const world = await FailoverWorld.start(t, seededRandom(experiment.seed))
    for (let round = 0; round < KINDS.length || experiment.hasTime(round, KINDS.length); round++)
      await world.failOver(KINDS[round % KINDS.length] ?? 'with a loss')
    t.diagnostic(world.said.join(', '))
  },
)

/** Three servers, a primary, a standby, and the names that the database has to have. */
class FailoverWorld {
  readonly said: string[] = []
  readonly #random: Random
  readonly #servers: readonly ServerProcess[]
  #primary: TestPostgres
  #standby: TestPostgres
  readonly #hosts: readonly TestPostgres[]
  #kept: readonly string[] = ['default']
  #names = 0

  static async start(t: TestContext, random: Random): Promise<FailoverWorld> {
    const primary = await startPostgres()
    atEnd(t, () => primary.stop())
    await primary.query('postgres', `CREATE DATABASE ${DATABASE}`)
    const standby = await startStandby(primary)
    atEnd(t, () => standby.stop())
    const directory = await temporaryDirectory(t)
    // The standby first: it answers, and takes no writes.
    const hosts = [standby, primary].map(({ root }) => root).join(',')
    const url = `postgres://reeve@/${DATABASE}?host=${hosts}&target_session_attrs=read-write`
    const servers: ServerProcess[] = []
    for (const name of ['a', 'b', 'c']) servers.push(await startServer(t, { url, directory, name }))
    return new FailoverWorld(random, { primary, standby, servers })
  }

  private constructor(
    random: Random,
    parts: { primary: TestPostgres; standby: TestPostgres; servers: readonly ServerProcess[] },
  ) {
    this.#random = random
    this.#primary = parts.primary
    this.#standby = parts.standby
    this.#hosts = [parts.primary, parts.standby]
    this.#servers = parts.servers
  }

  async failOver(kind: (typeof KINDS)[number]): Promise<void> {
    const hasLoss = kind === 'with a loss'
    this.#kept = [...this.#kept, ...(await this.#write(this.#below(5) + 1))]
    await this.#untilReceived()
    const lost: string[] = []
    if (hasLoss) {
      await this.#standby.kill()
      lost.push(...(await this.#write(this.#below(20) + 1)))
      // Each server then knows how much is lost, whichever of them is paused.
      await this.#untilTheSame(this.#servers, lost)
    }
    const isPaused = hasLoss || this.#below(2) === 0
    const away = isPaused ? this.#servers[this.#below(this.#servers.length)] : undefined
    this.said.push(`${kind}: ${lost.length}${isPaused ? ' with a server paused' : ''}`)
    away?.child.kill('SIGSTOP')
    await this.#primary.kill()
    if (hasLoss) await this.#standby.start()
    await this.#standby.promote()
    const present = this.#servers.filter((server) => server !== away)
    await this.#untilTheSame(present)
    if (hasLoss) await this.#acceptLoss(present, lost.length)
    // Past the indexes that were lost, where the server that was away could read on.
    this.#kept = [...this.#kept, ...(await this.#write(lost.length + 2, present))]
    away?.child.kill('SIGCONT')
    await this.#untilTheSame(this.#servers)
    await this.#swap()
    experiment.count('failovers')
    if (isPaused) experiment.count('paused servers')
    experiment.count('lost commits, all reported', lost.length)
  }

  /** What was the primary starts anew as a standby of the other, under its address. */
  async #swap(): Promise<void> {
    const [primary, standby] = [this.#standby, this.#primary]
    await standby.copyFrom(primary)
    this.#primary = primary
    this.#standby = standby
    assert.ok(this.#hosts.includes(primary))
  }

  async #acceptLoss(servers: readonly ServerProcess[], lost: number): Promise<void> {
    const [server] = servers
    assert.ok(server !== undefined)
    const text = await until(
      'writes to be refused',
      async () => {
        const { text: said } = await put(server, `refused-${this.#names}`)
        return /accept-loss/.test(said) ? said : undefined
      },
      WAIT_MS_MAX,
    )
    assert.match(text, new RegExp(`${lost} acknowledged commits? \\(index`))
    const { data } = await server.client.v1.acceptDatabaseLoss()
    assert.deepEqual(
      data.Accepted.map(({ Commits }) => Commits),
      [lost],
    )
  }

  async #write(count: number, by: readonly ServerProcess[] = this.#servers): Promise<string[]> {
    const names: string[] = []
    for (let n = 0; n < count; n++) {
      const name = `n${++this.#names}`
      await until(
        `${name} to be written`,
        async () => {
          const server = by[this.#below(by.length)]
          assert.ok(server !== undefined)
          return (await put(server, name)).status === 200 ? true : undefined
        },
        WAIT_MS_MAX,
      )
      names.push(name)
    }
    experiment.count('acknowledged writes', count)
    return names
  }

  async #untilReceived(): Promise<void> {
    const sql = `SELECT count(*) AS n FROM pg_stat_replication
      WHERE replay_lsn >= pg_current_wal_lsn()`
    await until(
      'the standby to have everything',
      async () => {
        const [row] = await this.#primary.query('postgres', sql)
        return row?.['n'] === '1' ? true : undefined
      },
      WAIT_MS_MAX,
    )
  }

  /** Each server, as a follower and by way of the leader. */
  async #untilTheSame(
    servers: readonly ServerProcess[],
    more: readonly string[] = [],
  ): Promise<void> {
    const wanted = JSON.stringify([...this.#kept, ...more].toSorted())
    for (const server of servers)
      for (const query of ['?stale', '', '?consistent'])
        await until(
          `${server.address}${query} to show what the database has`,
          async () => {
            if ((await leaderOf(server)) === undefined) return undefined
            return JSON.stringify(await namesAt(server, query)) === wanted ? true : undefined
          },
          WAIT_MS_MAX,
        )
  }

  #below(max: number): number {
    return Math.floor(this.#random.next() * max)
  }
}

async function put(
  { address }: ServerProcess,
  name: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = JSON.stringify({ Name: name })
  const signal = AbortSignal.timeout(10_000)
  const sent = fetch(`${address}/v1/namespace`, { method: 'PUT', body, signal })
  // A server that restarts as a follower closes its connections.
  const answer = await sent.catch(() => undefined)
  return { status: answer?.status ?? 0, text: (await answer?.text()) ?? '' }
}

async function namesAt(
  { address }: ServerProcess,
  query: string,
): Promise<readonly string[] | undefined> {
  const signal = AbortSignal.timeout(10_000)
  const answer = await fetch(`${address}/v1/namespaces${query}`, { signal }).catch(() => undefined)
  if (answer?.status !== 200) return undefined
  // The list of namespaces.
  const rows = (await answer.json()) as { Name: string }[]
  return rows.map(({ Name }) => Name).toSorted()
}
