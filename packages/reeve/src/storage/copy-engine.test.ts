import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { join } from 'node:path'
import { atEnd } from '../../test/build/at-end.ts'
import { startPostgres, whyNoPostgres } from '../../test/build/postgres.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import type { LogEntry, MigratableEngine } from '../state/index.ts'
import { openEmbeddedEngine } from './embedded/open-embedded-engine.ts'
import { copyEngine, diffDigests, isEmptyEngine, digestEngine } from './copy-engine.ts'
import { openPostgresDatabase } from './postgres/postgres-database.ts'

const missing = whyNoPostgres()
const postgres = missing === undefined ? await startPostgres() : undefined
after(() => postgres?.stop())

/** What an engine may hold when it is moved. */
const contents: readonly {
  readonly name: string
  readonly fill: (engine: MigratableEngine) => Promise<void>
}[] = [
  { name: 'nothing', fill: async () => undefined },
  {
    name: 'a log, a checkpoint of a part of it, and blobs',
    fill: async (engine) => {
      await engine.append(upTo(2_500).map(entry))
      await engine.checkpoint(
        upTo(3_000).map((n) => ({
          table: n % 2 === 0 ? 'jobs' : 'nodes',
          key: `${n}`,
          text: `1 1\n${n}`,
        })),
        { upTo: 2_000, tableIndexes: { nodes: 7, jobs: 2_000 } },
      )
      await engine.append([
        { ...entry(2_501), blobs: [{ key: 'b\ud800', bytes: Uint8Array.of(0, 255, 1) }] },
        { ...entry(2_502), text: 'odd \u0000 \ud800 \u0001 text', blobs: [] },
      ])
    },
  },
  {
    name: 'a log whose beginning is trimmed',
    fill: async (engine) => {
      await engine.append(upTo(10).map(entry))
      await engine.checkpoint([{ table: 'jobs', key: 'a', text: 'x' }], mark(8))
      await engine.trim(6)
    },
  },
  {
    name: 'a log that is trimmed as a whole, and large blobs',
    fill: async (engine) => {
      const bytes = new Uint8Array(3 * 1024 * 1024).fill(7)
      await engine.append([
        {
          ...entry(1),
          blobs: [
            { key: 'a', bytes },
            { key: 'b', bytes },
          ],
        },
      ])
      await engine.checkpoint([{ table: 'jobs', key: 'a', text: 'x' }], mark(1))
      await engine.trim(2)
    },
  },
]

for (const { name, fill } of contents)
  test(`content moves to PostgreSQL and back: ${name}`, { skip: missing }, async (t) => {
    const folder = await temporaryDirectory(t)
    const source = await embeddedAt(t, join(folder, 'a'))
    await fill(source)
    await source.close()
    const url = (await postgres?.newDatabase()) ?? ''
    const first = await summaryOf(t, () => embeddedAt(t, join(folder, 'a')))
    await move(
      t,
      () => embeddedAt(t, join(folder, 'a')),
      () => postgresAt(t, url),
    )
    assert.deepEqual(await summaryOf(t, () => postgresAt(t, url)), first)
    await move(
      t,
      () => postgresAt(t, url),
      () => embeddedAt(t, join(folder, 'b')),
    )
    assert.deepEqual(await summaryOf(t, () => embeddedAt(t, join(folder, 'b'))), first)
    // What was moved goes on as before.
    const back = await embeddedAt(t, join(folder, 'b'))
    await back.append([entry(back.initialPosition.lastIndex + 1)])
  })

test('an engine with anything in it is not empty', async (t) => {
  const folder = await temporaryDirectory(t)
  const blank = await embeddedAt(t, join(folder, 'a'))
  assert.equal(await isEmptyEngine(blank), true)
  await blank.checkpoint([{ table: 'jobs', key: 'a', text: 'x' }], mark(0))
  assert.equal(await isEmptyEngine(blank), false)
  const other = await embeddedAt(t, join(folder, 'b'))
  await other.putBlobs([{ key: 'a', bytes: Uint8Array.of() }])
  assert.equal(await isEmptyEngine(other), false)
})

test('a summary contains the differences of two engines', async (t) => {
  const folder = await temporaryDirectory(t)
  const [a, b] = [await embeddedAt(t, join(folder, 'a')), await embeddedAt(t, join(folder, 'b'))]
  const row = { table: 'jobs', key: 'a', text: 'x' }
  await a.checkpoint([row, { ...row, table: 'nodes' }], mark(0))
  await b.checkpoint(
    [
      { ...row, text: 'y' },
      { ...row, table: 'nodes' },
      { ...row, table: 'more' },
    ],
    mark(0),
  )
  await b.putBlobs([{ key: 'a', bytes: Uint8Array.of(1) }])
  const differ = diffDigests(await digestEngine(a), await digestEngine(b))
  assert.deepEqual(differ, ['blobs', 'table jobs', 'table more'])
})

async function move(
  _t: TestContext,
  openFrom: () => Promise<MigratableEngine>,
  openTo: () => Promise<MigratableEngine>,
): Promise<void> {
  const from = await openFrom()
  const to = await openTo()
  assert.equal(await isEmptyEngine(to), true)
  await copyEngine(from, to)
  await from.close()
  await to.close()
}

async function summaryOf(_t: TestContext, open: () => Promise<MigratableEngine>) {
  const engine = await open()
  const summary = await digestEngine(engine)
  await engine.close()
  return [...summary].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

async function embeddedAt(t: TestContext, directory: string): Promise<MigratableEngine> {
  const engine = await openEmbeddedEngine(directory)
  atEnd(t, () => engine.close())
  return engine
}

async function postgresAt(t: TestContext, url: string): Promise<MigratableEngine> {
  const database = await openPostgresDatabase(url)
  atEnd(t, () => database.close())
  const engine = await database.openEngine()
  const held = await database.lease.acquire({ holder: 'move', address: '', ttlMs: 0 })
  await engine.beginTerm(held?.term ?? 0)
  return engine
}

function entry(index: number): LogEntry {
  return { index, timeMs: index + 0.5, text: `commit ${index}`, blobs: [] }
}

function mark(upToIndex: number) {
  return { upTo: upToIndex, tableIndexes: { jobs: upToIndex } }
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at + 1)
}
