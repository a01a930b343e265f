import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import { startPostgres, whyNoPostgres } from '../../test/build/postgres.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { openEmbeddedEngine, openPostgresDatabase } from '../storage/index.ts'
import { runCommandLine } from './commands.ts'
import { processHost } from '../cli/index.ts'

const missing = whyNoPostgres()
const postgres = missing === undefined ? await startPostgres() : undefined
after(() => postgres?.stop())

test(
  'migrate-storage moves a data directory to PostgreSQL and back',
  { skip: missing },
  async (t) => {
    const { data, back, url } = await places(t)
    await fill(data)
    const there = await run('--from', data, '--to', url, '--json')
    assert.equal(there.code, 0, there.err)
    const answer = JSON.parse(there.out)
    assert.equal(answer.verified, true)
    assert.deepEqual(
      answer.content.map(({ name, count }: { name: string; count: number }) => [name, count]),
      [
        ['blobs', 1],
        ['log', 3],
        ['position', 1],
        ['table jobs', 2],
      ],
    )
    const again = await run('--from', url, '--to', back)
    assert.equal(again.code, 0, again.err)
    assert.match(again.out, /table jobs +2 {2}[0-9a-f]{16}\n/)
    assert.deepEqual(await readdir(join(back, 'server')), ['storage'])
    const engine = await openEmbeddedEngine(join(back, 'server', 'storage'))
    assert.equal(engine.initialPosition.lastIndex, 3)
    assert.deepEqual([...((await engine.readBlob('b')) ?? [])], [7])
    await engine.close()
  },
)

const refusals = [
  {
    name: 'a target directory that is not empty',
    prepare: async ({ data, back }: Places) => {
      await fill(data)
      await fill(back)
    },
    args: ({ data, back }: Places) => ['--from', data, '--to', back],
    says: /is not empty\. Nothing was changed/,
  },
  {
    name: 'a database that is not empty',
    prepare: async ({ data, url }: Places) => {
      await fill(data)
      await run('--from', data, '--to', url)
    },
    args: ({ data, url }: Places) => ['--from', data, '--to', url],
    says: /is not empty\. Nothing was changed/,
  },
  {
    name: 'a source that is not there',
    prepare: async () => undefined,
    args: ({ data, url }: Places) => ['--from', data, '--to', url],
    says: /is no data directory of a server/,
  },
]
for (const c of refusals)
  test(`migrate-storage refuses ${c.name}`, { skip: missing }, async (t) => {
    const given = await places(t)
    await c.prepare(given)
    const { code, err } = await run(...c.args(given))
    assert.equal(code, 1)
    assert.match(err, c.says)
  })

test(
  'migrate-storage refuses a directory and a database that are in use',
  { skip: missing },
  async (t) => {
    const { data, url } = await places(t)
    await fill(data)
    const engine = await openEmbeddedEngine(join(data, 'server', 'storage'))
    const busy = await run('--from', data, '--to', url)
    await engine.close()
    assert.equal(busy.code, 1)
    assert.match(busy.err, /in use by this process/)
    const database = await openPostgresDatabase(url)
    await database.lease.acquire({ holder: 'x', address: '10.0.0.1:4646', ttlMs: 60_000 })
    const held = await run('--from', data, '--to', url)
    await database.close()
    assert.equal(held.code, 1)
    assert.match(held.err, /in use by the server at 10\.0\.0\.1:4646\. Stop every server first/)
  },
)

interface Places {
  readonly data: string
  readonly back: string
  readonly url: string
}

async function places(t: TestContext): Promise<Places> {
  const folder = await temporaryDirectory(t)
  const url = (await postgres?.newDatabase()) ?? ''
  return { data: join(folder, 'a'), back: join(folder, 'b'), url }
}

async function fill(data: string): Promise<void> {
  const engine = await openEmbeddedEngine(join(data, 'server', 'storage'))
  const entries = [1, 2, 3].map((index) => ({
    index,
    timeMs: index,
    text: `c ${index}`,
    blobs: [],
  }))
  await engine.append(entries.slice(0, 2))
  await engine.append([
    { index: 3, timeMs: 3, text: 'c 3', blobs: [{ key: 'b', bytes: Uint8Array.of(7) }] },
  ])
  const rows = ['a', 'b'].map((key) => ({ table: 'jobs', key, text: `1 2\n${key}` }))
  await engine.checkpoint(rows, { upTo: 2, tableIndexes: { jobs: 2 } })
  await engine.close()
}

async function run(...args: readonly string[]) {
  let out = ''
  let err = ''
  const host = {
    ...processHost(),
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
  }
  const code = await runCommandLine(['operator', 'migrate-storage', ...args], host)
  return { code, out, err }
}
