/**
 * The PostgreSQL engine compared with PostgreSQL itself in one run: equal rows and batches over one
 * connection with equal durability and array encoding. `node packages/reeve/bench/postgres.bench.ts
 * [--quick]`
 */
import { Client } from 'pg'
import type { CheckpointRow, LogEntry } from '../src/state/index.ts'
import { openPostgresDatabase, type PostgresEngine } from '../src/storage/index.ts'
import { encodeBigintArray, encodeTextArray } from '../src/storage/postgres/write-statements.ts'
import { startPostgres, whyNoPostgres, type TestPostgres } from '../test/build/postgres.ts'
import { better, fixed, isQuick, printTable, rateOf, timed, whole, type Rate } from './measure.ts'
import { scatteredId } from './scattered-ids.ts'

const ROW_BYTES = 900
const BATCHES = [1, 10, 100, 1_000]
const MEASURE_MS = isQuick ? 250 : 2_000
const WARM_UP_MS = isQuick ? 100 : 500
const ROUNDS = isQuick ? 1 : 3
const ROWS = isQuick ? 20_000 : 200_000
/** Rows per statement of the engine. */
const ROWS_PER_PIECE = Math.floor((512 * 1024) / ROW_BYTES)
const ROWS_PER_PAGE = 2_000
const LEASE = { holder: 'bench', address: '', ttlMs: 600_000 }
const FILLER = '{"Type":"Started","Message":"Task started by client","Restarts":0},'.repeat(20)
/** Created in advance, so that their creation is not measured. */
const texts = Array.from({ length: 2_000 }, (_, at) => rowText(at))

const missing = whyNoPostgres()
if (missing === undefined) await benchAll(await startPostgres())
else process.stdout.write(`${missing}\n`)

async function benchAll(postgres: TestPostgres): Promise<void> {
  try {
    await benchAppends(postgres)
    await benchRows(postgres)
  } finally {
    await postgres.stop()
  }
}

/** One entry is one commit; a batch is one group commit. */
async function benchAppends(postgres: TestPostgres): Promise<void> {
  const rows: string[][] = []
  for (const batch of BATCHES) {
    // Alternates, so that load on the machine affects both sides; the better round counts.
    let [ours, bare] = [await engineRate(postgres, batch), await rawRate(postgres, batch)]
    for (let round = 1; round < ROUNDS; round++) {
      ours = better(ours, await engineRate(postgres, batch))
      bare = better(bare, await rawRate(postgres, batch))
    }
    rows.push([
      whole(batch),
      whole(ours.perSecond),
      whole(ours.perSecond * batch),
      whole(bare.perSecond * batch),
      fixed(ours.perSecond / bare.perSecond),
      fixed(ours.p50),
      fixed(ours.p99),
      fixed(ours.max),
    ])
  }
  process.stdout.write(`Durable appends, commits of ${ROW_BYTES} bytes; ratio to a bare INSERT\n`)
  printTable(
    ['batch', 'statements/s', 'commits/s', 'raw', 'ratio', 'p50 ms', 'p99 ms', 'max ms'],
    rows,
  )
}

async function engineRate(postgres: TestPostgres, batch: number): Promise<Rate> {
  return await withEngine(postgres, async (engine) => {
    let index = 0
    return await warmRateOf(async () => {
      await engine.append(Array.from({ length: batch }, (_, at) => entry(index + 1 + at)))
      index += batch
    })
  })
}

async function rawRate(postgres: TestPostgres, batch: number): Promise<Rate> {
  return await withClient(postgres, async (client) => {
    await client.query('CREATE TABLE raw_log (commit_index bigint PRIMARY KEY, body text NOT NULL)')
    let index = 0
    return await warmRateOf(async () => {
      const indexes = Array.from({ length: batch }, (_, at) => index + 1 + at)
      await client.query({
        name: 'raw-append',
        text: 'INSERT INTO raw_log SELECT * FROM unnest($1::bigint[], $2::text[])',
        values: [encodeBigintArray(indexes), encodeTextArray(indexes.map(textAt))],
      })
      index += batch
    })
  })
}

async function warmRateOf(work: () => Promise<void>): Promise<Rate> {
  await rateOf(WARM_UP_MS, work)
  return await rateOf(MEASURE_MS, work)
}

/** The writes of a checkpoint and the reads of a start. */
async function benchRows(postgres: TestPostgres): Promise<void> {
  const table: string[][] = []
  const report = (what: string, ours: number, bare: number): void => {
    const perSecond = (ms: number): string => whole((ROWS / ms) * 1_000)
    table.push([what, perSecond(ours), perSecond(bare), fixed(bare / ours)])
  }
  const ours = await withEngine(postgres, engineRows)
  const bare = await withClient(postgres, rawRows)
  report('checkpoint, new rows', ours.insertMs, bare.insertMs)
  report('checkpoint, the same rows again', ours.updateMs, bare.updateMs)
  report('load', ours.loadMs, bare.loadMs)
  process.stdout.write(`${whole(ROWS)} rows of ${ROW_BYTES} bytes\n`)
  printTable(['', 'rows/s', 'raw rows/s', 'ratio'], table)
}

interface RowTimes {
  readonly insertMs: number
  readonly updateMs: number
  readonly loadMs: number
}

async function engineRows(engine: PostgresEngine): Promise<RowTimes> {
  const mark = { upTo: 0, tableIndexes: {} }
  const insertMs = await timed(() => engine.checkpoint(someRows(), mark))
  const updateMs = await timed(() => engine.checkpoint(someRows(), mark))
  let loaded = 0
  const loadMs = await timed(async () => {
    for await (const page of engine.load()) loaded += page.length
  })
  if (loaded !== ROWS) throw new Error(`loaded ${loaded} rows of ${ROWS}`)
  return { insertMs, updateMs, loadMs }
}

async function rawRows(client: Client): Promise<RowTimes> {
  await client.query('CREATE TABLE raw_rows (key text PRIMARY KEY, body text NOT NULL)')
  const upsert = async (): Promise<void> => {
    for (let from = 0; from < ROWS; from += ROWS_PER_PIECE) {
      const length = Math.min(ROWS_PER_PIECE, ROWS - from)
      const keys = Array.from({ length }, (_, at) => scatteredId(from + at))
      await client.query({
        name: 'raw-upsert',
        text: `INSERT INTO raw_rows SELECT * FROM unnest($1::text[], $2::text[])
          ON CONFLICT (key) DO UPDATE SET body = excluded.body`,
        values: [encodeTextArray(keys), encodeTextArray(keys.map((_, at) => textAt(from + at)))],
      })
    }
  }
  const insertMs = await timed(upsert)
  const updateMs = await timed(upsert)
  return { insertMs, updateMs, loadMs: await timed(() => readAll(client)) }
}

async function readAll(client: Client): Promise<void> {
  for (let last: string | undefined = ''; last !== undefined;) {
    const { rows }: { rows: { key: string }[] } = await client.query({
      name: 'raw-page',
      text: `SELECT key, body FROM raw_rows WHERE key > $1 ORDER BY key LIMIT ${ROWS_PER_PAGE}`,
      values: [last],
    })
    last = rows.at(-1)?.key
  }
}

/** In a separate database, so that neither side is affected by the other. */
async function withEngine<T>(
  postgres: TestPostgres,
  work: (engine: PostgresEngine) => Promise<T>,
): Promise<T> {
  const database = await openPostgresDatabase(await postgres.newDatabase())
  try {
    const held = await database.lease.acquire(LEASE)
    if (held === undefined) throw new Error('nobody else wants the lease')
    const engine = await database.openEngine()
    await engine.beginTerm(held.term)
    const result = await work(engine)
    await engine.close()
    return result
  } finally {
    await database.close()
  }
}

async function withClient<T>(
  postgres: TestPostgres,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const url = new URL(await postgres.newDatabase())
  const client = new Client({
    host: postgres.root,
    port: Number(url.port),
    user: url.username,
    database: url.pathname.slice(1),
  })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function entry(index: number): LogEntry {
  return { index, timeMs: 1_700_000_000_000, text: textAt(index), blobs: [] }
}

function* someRows(): Generator<CheckpointRow> {
  for (let at = 0; at < ROWS; at++) yield { table: 'rows', key: scatteredId(at), text: textAt(at) }
}

function textAt(at: number): string {
  return texts[at % texts.length] ?? ''
}

/** Compresses about like JSON: names repeat, ids do not. */
function rowText(at: number): string {
  const ids = Array.from({ length: 6 }, (_, part) => `"ID${part}":"${scatteredId(at * 7 + part)}"`)
  return `{${ids.join(',')},"Events":"${FILLER}"}`.slice(0, ROW_BYTES)
}
