/**
 * The embedded engine compared with its bare database in one run. `node
 * packages/reeve/bench/storage.bench.ts [--quick]`
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClassicLevel } from 'classic-level'
import type { CheckpointRow, LogEntry, StorageEngine } from '../src/state/index.ts'
import { openEmbeddedEngine } from '../src/storage/index.ts'
import {
  better,
  fixed,
  isQuick,
  printTable,
  rateOf,
  summary,
  timed,
  whole,
  type Rate,
} from './measure.ts'
import { scatteredId } from './scattered-ids.ts'

const ROW_BYTES = 900
const BATCHES = [1, 10, 100, 1_000]
const MEASURE_MS = isQuick ? 250 : 1_500
const WARM_UP_MS = isQuick ? 100 : 300
const ROUNDS = isQuick ? 1 : 2
const LOAD_ROWS = isQuick ? 100_000 : 1_000_000
const STEADY_ROWS_PER_SECOND = 20_000
const STEADY_BATCH = 100
const STEADY_MS = isQuick ? 1_000 : 10_000

const names = ['ID', 'EvalID', 'NodeID', 'JobID', 'DeploymentID', 'PreviousAllocation']
const FILLER = '{"Type":"Started","Message":"Task started by client","Restarts":0},'.repeat(20)
/** Created in advance, so that their creation is not measured. */
const texts = Array.from({ length: 20_000 }, (_, at) => rowText(at))

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
try {
  await benchAppends()
  await benchSteady()
  await benchLoad()
} finally {
  await rm(home, { recursive: true })
}

/** One entry is one row of a commit; a batch is one group commit. */
async function benchAppends(): Promise<void> {
  const rows: string[][] = []
  for (const batch of BATCHES) {
    // Alternates, so that load on the machine affects both sides; the better round counts.
    let [ours, bare] = [await engineRate(batch), await rawRate(batch)]
    for (let round = 1; round < ROUNDS; round++) {
      ours = better(ours, await engineRate(batch))
      bare = better(bare, await rawRate(batch))
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
  process.stdout.write(`Durable appends, entries of ${ROW_BYTES} bytes\n`)
  printTable(
    ['batch', 'commits/s', 'rows/s', 'raw rows/s', 'ratio', 'p50 ms', 'p99 ms', 'max ms'],
    rows,
  )
}

async function engineRate(batch: number): Promise<Rate> {
  const directory = join(home, 'engine')
  const engine = await openEmbeddedEngine(directory)
  let index = 0
  const rate = await warmRateOf(async () => {
    await engine.append(Array.from({ length: batch }, (_, at) => entry(index + 1 + at)))
    index += batch
  })
  await engine.close()
  await rm(directory, { recursive: true })
  return rate
}

async function rawRate(batch: number): Promise<Rate> {
  const directory = join(home, 'raw')
  const raw = new ClassicLevel(directory, { writeBufferSize: 64 * 1024 * 1024 })
  await raw.open()
  let index = 0
  const put = (): { type: 'put'; key: string; value: string } => {
    index++
    return { type: 'put', key: String(index).padStart(16, '0'), value: textAt(index) }
  }
  const rate = await warmRateOf(async () => {
    await raw.batch(Array.from({ length: batch }, put), { sync: true })
  })
  await raw.close()
  await rm(directory, { recursive: true })
  return rate
}

async function warmRateOf(work: () => Promise<void>): Promise<Rate> {
  await rateOf(WARM_UP_MS, work)
  return await rateOf(MEASURE_MS, work)
}

/** Appends at a steady rate during checkpoints and log trimming. */
async function benchSteady(): Promise<void> {
  const engine = await openEmbeddedEngine(join(home, 'steady'))
  const keeping = new AbortController()
  let index = 0
  const checkpoints = keep(engine, () => index, keeping.signal)
  const start = performance.now()
  const tookMs: number[] = []
  while (performance.now() - start < STEADY_MS) {
    const dueMs = start + (index / STEADY_ROWS_PER_SECOND) * 1_000
    while (performance.now() < dueMs) await new Promise((resolve) => setImmediate(resolve))
    const entries = Array.from({ length: STEADY_BATCH }, (_, at) => entry(index + 1 + at))
    tookMs.push(await timed(() => engine.append(entries)))
    index += STEADY_BATCH
  }
  const rate = summary(tookMs, performance.now() - start)
  keeping.abort()
  const rowsKept = await checkpoints
  await engine.close()
  process.stdout.write(
    `Steady load, ${whole(STEADY_ROWS_PER_SECOND)} rows/s in commits of ${STEADY_BATCH}\n`,
  )
  printTable(
    ['', 'rows/s', 'p50 ms', 'p99 ms', 'max ms'],
    [
      [
        'appended',
        whole(rate.perSecond * STEADY_BATCH),
        fixed(rate.p50),
        fixed(rate.p99),
        fixed(rate.max),
      ],
      ['checkpointed', whole((rowsKept / (performance.now() - start)) * 1_000), '', '', ''],
    ],
  )
}

async function keep(
  engine: StorageEngine,
  lastIndex: () => number,
  signal: AbortSignal,
): Promise<number> {
  let done = 0
  let rows = 0
  while (!signal.aborted) {
    const upTo = lastIndex()
    await engine.checkpoint(someRows(done, upTo), { upTo, tableIndexes: { allocations: upTo } })
    await engine.trim(upTo - 100_000)
    rows += upTo - done
    done = upTo
    await new Promise((resolve) => setImmediate(resolve))
  }
  return rows
}

async function benchLoad(): Promise<void> {
  const directory = join(home, 'load')
  const rows: string[][] = []
  let engine = await openEmbeddedEngine(directory)
  const report = (what: string, ms: number): void => {
    rows.push([what, fixed(ms / 1_000), whole((LOAD_ROWS / ms) * 1_000)])
  }
  const mark = { upTo: 0, tableIndexes: {} }
  report('write, in order', await timed(() => engine.checkpoint(rowsInOrder(LOAD_ROWS), mark)))
  await engine.close()
  report(
    'open, with every checksum verified',
    await timed(async () => (engine = await openEmbeddedEngine(directory))),
  )
  let loaded = 0
  report(
    'load',
    await timed(async () => {
      for await (const page of engine.load()) loaded += page.length
    }),
  )
  await engine.close()
  if (loaded !== LOAD_ROWS) throw new Error(`loaded ${loaded} rows of ${LOAD_ROWS}`)
  const raw = new ClassicLevel(join(directory, 'level'))
  await raw.open()
  report('load, raw database', await timed(() => readAll(raw)))
  await raw.close()
  process.stdout.write(`Restart with ${whole(LOAD_ROWS)} rows of ${ROW_BYTES} bytes\n`)
  printTable(['', 'seconds', 'rows/s'], rows)
}

async function readAll(raw: ClassicLevel): Promise<void> {
  const iterator = raw.iterator({ gte: 'r', lt: 's', highWaterMarkBytes: 4 * 1024 * 1024 })
  while ((await iterator.nextv(1_000)).length > 0);
  await iterator.close()
}

function entry(index: number): LogEntry {
  return { index, timeMs: 1_700_000_000_000, text: textAt(index), blobs: [] }
}

function* someRows(from: number, to: number): Generator<CheckpointRow> {
  for (let at = from; at < to; at++) {
    yield { table: 'allocations', key: scatteredId(at), text: textAt(at) }
  }
}

/** Sorted by key, which spares the database most of its sorting; only for `load`. */
function* rowsInOrder(count: number): Generator<CheckpointRow> {
  for (let at = 0; at < count; at++) {
    const key = `${at.toString(16).padStart(8, '0')}-${scatteredId(at)}`
    yield { table: 'allocations', key, text: textAt(at) }
  }
}

function textAt(at: number): string {
  return texts[at % texts.length] ?? ''
}

/** Compresses about like JSON: names repeat, ids do not. */
function rowText(at: number): string {
  const ids = Array.from(
    { length: 6 },
    (_, part) => `"${names[part]}":"${scatteredId(at * 7 + part)}"`,
  )
  return `{${ids.join(',')},"Events":"${FILLER}"}`.slice(0, ROW_BYTES)
}
