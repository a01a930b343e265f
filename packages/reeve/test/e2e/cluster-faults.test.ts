import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { HEADERS } from '@reeve/contract'
import { atEnd } from '../build/at-end.ts'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../build/postgres.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startServer, type ServerPlace, type ServerProcess } from './cluster-process.ts'

const missing = whyNoPostgres()
const NAMES = ['a', 'b', 'c'] as const
const ANSWER_MS_MAX = 8_000

test(
  'cluster: three servers under kills and pauses lose no acknowledged write',
  { skip: missing },
  async (t) => {
    const world = await World.start(t)
    const clients = NAMES.map((_, n) => world.write(n))
    // Each fault lasts until somebody has been answered again.
    await world.fault(() => world.kill(0))
    await world.fault(() => world.pause(1))
    await world.fault(() => world.kill(2))
    await world.fault(() => world.restartDatabase())
    await world.fault(() => world.pause(0))
    await world.fault(() => world.kill(1))
    world.isOver = true
    await Promise.all(clients)
    t.diagnostic(`${world.acknowledged.length} writes were acknowledged`)
    assert.ok(world.acknowledged.length > 6)
    assert.deepEqual(world.setbacks, [], 'no client ever saw an index go back')
    for (const server of world.servers) {
      const names = await until(
        'the state',
        () => world.namesAt(server).catch(() => undefined),
        60_000,
      )
      const lost = world.acknowledged.filter((name) => !names.has(name))
      assert.deepEqual(lost, [], `at ${server.address}`)
    }
  },
)

/** Three real servers, a real database, and clients that write all the time. */
class World {
  readonly servers: ServerProcess[] = []
  readonly acknowledged: string[] = []
  readonly setbacks: string[] = []
  isOver = false
  readonly #t: TestContext
  readonly #postgres: TestPostgres
  readonly #places: readonly ServerPlace[]

  static async start(t: TestContext): Promise<World> {
    const postgres = await startPostgres()
    atEnd(t, () => postgres.stop())
    const directory = await temporaryDirectory(t)
    const url = await postgres.newDatabase()
    const world = new World(
      t,
      postgres,
      NAMES.map((name) => ({ url, directory, name })),
    )
    for (const place of world.#places) world.servers.push(await startServer(t, place))
    return world
  }

  private constructor(t: TestContext, postgres: TestPostgres, places: readonly ServerPlace[]) {
    this.#t = t
    this.#postgres = postgres
    this.#places = places
  }

  /** Writes one name after the other, by one server after the other, until it is over. */
  async write(client: number): Promise<void> {
    let lastIndex = 0
    for (let n = 0; !this.isOver; n++) {
      const name = `c${client}-${n}`
      const server = this.servers[(client + n) % this.servers.length]
      const index = server === undefined ? undefined : await put(server, name)
      if (index === undefined) continue
      if (index < lastIndex) this.setbacks.push(`${name}: ${index} after ${lastIndex}`)
      lastIndex = index
      this.acknowledged.push(name)
    }
  }

  /** Something goes wrong; then at least some more is written. */
  async fault(strike: () => Promise<void>): Promise<void> {
    await this.#progress()
    await strike()
    await this.#progress()
  }

  async #progress(): Promise<void> {
    const before = this.acknowledged.length
    await until(
      'writes to go on',
      () => (this.acknowledged.length > before + 5 ? true : undefined),
      90_000,
    )
  }

  /** Ends it at once, and starts it again at the same address. */
  async kill(n: number): Promise<void> {
    const [server, place] = [this.servers[n], this.#places[n]]
    assert.ok(server !== undefined && place !== undefined)
    await server.kill('SIGKILL')
    await this.#progress()
    const port = Number(new URL(server.address).port)
    this.servers[n] = await startServer(this.#t, { ...place, port })
  }

  /** It sleeps until another has written, so past its lease if it led. */
  async pause(n: number): Promise<void> {
    const server = this.servers[n]
    server?.child.kill('SIGSTOP')
    await this.#progress()
    server?.child.kill('SIGCONT')
  }

  async restartDatabase(): Promise<void> {
    await this.#postgres.kill()
    await this.#postgres.start()
  }

  async namesAt(server: ServerProcess): Promise<ReadonlySet<string>> {
    const { data } = await server.client.v1.listNamespaces({})
    return new Set(data.map(({ Name }) => Name))
  }
}

/** The index of the write; undefined when it was not acknowledged. */
async function put({ address }: ServerProcess, name: string): Promise<number | undefined> {
  try {
    const answer = await fetch(`${address}/v1/namespace`, {
      method: 'PUT',
      body: JSON.stringify({ Name: name }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    await answer.arrayBuffer()
    return answer.status === 200 ? Number(answer.headers.get(HEADERS.index)) : undefined
  } catch {
    // Closed, refused or too late: what became of it is open.
    return undefined
  }
}
