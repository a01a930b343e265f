/**
 * The store: the cost of a commit in addition to the storage engine, the memory of a row, and the
 * duration of a restart. `node packages/reeve/bench/state.bench.ts [--quick]`
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import { put, Store, type CheckpointRow, type LogEntry } from '../src/state/index.ts'
import type { StorageEngine } from '../src/state/index.ts'
import { systemClock as clock } from '../src/main/system.ts'
import { MemoryDisk, openEmbeddedEngine, openMemoryEngine } from '../src/storage/index.ts'
import { anAllocationRow } from './allocation-rows.ts'
import * as measure from './measure.ts'
import { better, fixed, isQuick, printTable, sharedRateOf, timed, whole } from './measure.ts'
import type { Rate } from './measure.ts'
import { startProgram, writeSealingKey } from './program.ts'

const BATCHES = [1, 10, 100, 1_000]
const COMMITTERS = 64
const TEXTS_KEPT = 64
const MEASURE_MS = isQuick ? 200 : 600
const WARM_UP_MS = isQuick ? 100 : 200
const ROUNDS = isQuick ? 1 : 2
const HEAP_ROWS = isQuick ? 20_000 : 200_000
/** Decoded rows are large, and the memory per row does not depend on their number. */
const DECODED_ROWS = isQuick ? 5_000 : 20_000
const EMPTY_COMMIT = JSON.stringify({ index: 1, timeMs: 0, events: [] })
const LOAD_ROWS = isQuick ? 50_000 : 1_000_000

/**
 * Created in advance, so that their creation is not measured. The first 20,000 rows of each
 * measurement are inserts, all later ones updates.
 */
const rows = Array.from({ length: 20_000 }, (_, at) => anAllocationRow(at))

const home = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
try {
  await benchCommits()
  await benchHeap()
  await benchLoad()
} finally {
  await rm(home, { recursive: true })
}

async function benchCommits(): Promise<void> {
  const table: string[][] = []
  for (const batch of BATCHES)
    table.push(tableRow({ label: `${whole(batch)} rows`, batch, ...(await compared(batch, 1)) }))
  const together = await compared(1, COMMITTERS)
  table.push(tableRow({ label: `1 row, ${COMMITTERS} at once`, batch: 1, ...together }))
  const bytes = JSON.stringify(rows[0]).length
  process.stdout.write(`Durable commits of allocations of ${whole(bytes)} bytes
ratio: to the bare engine, which appends the very same texts one after the other
`)
  printTable(['a commit of', 'commits/s', 'rows/s', 'bare/s', 'ratio', 'p50 ms', 'p99 ms'], table)
}

interface Compared {
  readonly store: Rate
  readonly bare: Rate
}

function tableRow(of: Compared & { readonly label: string; readonly batch: number }): string[] {
  const { store, bare } = of
  return [
    of.label,
    whole(store.perSecond),
    whole(store.perSecond * of.batch),
    whole(bare.perSecond),
    fixed(store.perSecond / bare.perSecond),
    fixed(store.p50),
    fixed(store.p99),
  ]
}

/** Alternates, so that load on the machine affects both sides; the better round counts. */
async function compared(batch: number, committers: number): Promise<Compared> {
  const texts: string[] = []
  let store = await storeRate({ batch, committers, texts })
  let bare = await bareRate(texts)
  for (let round = 1; round < ROUNDS; round++) {
    store = better(store, await storeRate({ batch, committers, texts }))
    bare = better(bare, await bareRate(texts))
  }
  return { store, bare }
}

interface Committing {
  readonly batch: number
  readonly committers: number
  /** Receives some of the texts that the store passes to the engine. */
  readonly texts: string[]
}

async function storeRate({ batch, committers, texts }: Committing): Promise<Rate> {
  return await onNewEngine(async (engine) => {
    const store = await Store.open({ engine: recorded(engine, texts), clock })
    let next = 0
    const commit = async (): Promise<void> => {
      const from = next % rows.length
      next += batch
      const changes = () => rows.slice(from, from + batch).map((row) => put('allocations', row))
      await store.commit({ by: 'system', cause: 'PlanResult', changes }).durable
    }
    return await warmRate(Array.from({ length: committers }, () => commit))
  })
}

async function bareRate(texts: readonly string[]): Promise<Rate> {
  return await onNewEngine(async (engine) => {
    let index = 0
    const append = async (): Promise<void> => {
      index++
      const text = texts[index % texts.length] ?? ''
      await engine.append([{ index, timeMs: 0, text, blobs: [] }])
    }
    return await warmRate([append])
  })
}

async function warmRate(callers: readonly (() => Promise<void>)[]): Promise<Rate> {
  await sharedRateOf(WARM_UP_MS, callers)
  return await sharedRateOf(MEASURE_MS, callers)
}

async function onNewEngine(work: (engine: StorageEngine) => Promise<Rate>): Promise<Rate> {
  const directory = join(home, 'commits')
  const engine = await openEmbeddedEngine(directory)
  try {
    return await work(engine)
  } finally {
    await engine.close()
    await rm(directory, { recursive: true })
  }
}

/** Records a few of the texts that pass. */
function recorded(engine: StorageEngine, texts: string[]): StorageEngine {
  return {
    initialPosition: engine.initialPosition,
    append(entries) {
      for (const { text } of entries) if (texts.length < TEXTS_KEPT) texts.push(joinChunks(text))
      return engine.append(entries)
    },
    load: () => engine.load(),
    read: (fromIndex: number): AsyncIterable<LogEntry> => engine.read(fromIndex),
    checkpoint: (changed, mark) => engine.checkpoint(changed, mark),
    trim: (beforeIndex) => engine.trim(beforeIndex),
    readBlob: (key) => engine.readBlob(key),
    close: () => engine.close(),
  }
}

/** The memory of a row after a restart, before it is read, and of its decoded objects. */
async function benchHeap(): Promise<void> {
  const directory = join(home, 'heap')
  await writeCheckpoint(directory, HEAP_ROWS)
  const before = measure.livingBytes()
  const store = await Store.open({ engine: await openEmbeddedEngine(directory), clock })
  const perRow = (measure.livingBytes() - before) / HEAP_ROWS
  const { decoded, text } = decodedSize(store)
  await store.close()
  await rm(directory, { recursive: true })
  const perDecoded = perRow - text + decoded
  process.stdout.write(`Heap per allocation, of ${whole(HEAP_ROWS)} after a restart
each with its key, its place in two orders and six indexes, and what it holds
`)
  const row = (what: string, bytes: number): string[] => [
    what,
    whole(bytes),
    fixed(bytes / perDecoded),
    measure.megabytes(bytes * 1_000_000),
  ]
  printTable(
    ['', 'bytes', 'ratio', '1,000,000 of them'],
    [
      row('as objects', perDecoded),
      row('as text, as it is kept', perRow),
      row('the text alone', text),
    ],
  )
}

/** The size of a row's objects and of the text that is stored instead. */
function decodedSize(store: Store): { readonly decoded: number; readonly text: number } {
  const { allocations } = store.tables
  const bodies = [...allocations.keys()]
    .slice(0, DECODED_ROWS)
    .map((key) => allocations.rowJsonOf(key) ?? '')
  const before = measure.livingBytes()
  const objects: unknown[] = bodies.map((body) => JSON.parse(body))
  const decoded = (measure.livingBytes() - before) / DECODED_ROWS
  if (objects.length !== DECODED_ROWS) throw new Error(`decoded ${objects.length} rows`)
  const text = bodies.reduce((sum, body) => sum + body.length, 0) / DECODED_ROWS
  return { decoded, text }
}

async function benchLoad(): Promise<void> {
  const directory = join(home, 'load', 'server', 'storage')
  const table: string[][] = []
  await writeCheckpoint(directory, LOAD_ROWS)
  await writeSealingKey(join(home, 'load'))
  let engine = await openEmbeddedEngine(directory)
  const bareMs = await timed(async () => {
    for await (const page of engine.load()) if (page.length === 0) throw new Error('an empty page')
  })
  await engine.close()
  const report = (what: string, ms: number): void => {
    const perSecond = (LOAD_ROWS / ms) * 1_000
    table.push([what, fixed(ms / 1_000), whole(perSecond), fixed(ms / bareMs)])
  }
  report('read by the bare engine', bareMs)
  const openMs = await timed(async () => (engine = await openEmbeddedEngine(directory)))
  report('engine opened, every checksum verified', openMs)
  const loadMs = await timed(async () => check(await Store.open({ engine, clock })))
  report('store loaded', loadMs)
  await engine.close()
  const startMs = await timed(async () => {
    const program = await startProgram({ directory: join(home, 'load') })
    await program.stop()
  })
  report('whole program, until it answered and stopped', startMs)
  process.stdout.write(`Restart with ${whole(LOAD_ROWS)} allocations\n`)
  printTable(['', 'seconds', 'rows/s', 'ratio'], table)
}

function check({ tables: { allocations } }: Store): void {
  const wanted = anAllocationRow(LOAD_ROWS - 1)
  const isThere = allocations.find(wanted.ID)?.Name === wanted.Name
  const isGrouped = allocations.countByIndex('node', wanted.NodeID) >= LOAD_ROWS / 10_000
  if (allocations.size !== LOAD_ROWS || !isThere || !isGrouped)
    throw new Error(`the store holds ${allocations.size} rows, or they are not as written`)
}

/** A data directory with the rows as a checkpoint and an empty log. */
async function writeCheckpoint(directory: string, count: number): Promise<void> {
  await mkdir(directory, { recursive: true })
  const engine = await openEmbeddedEngine(directory)
  await engine.append([{ index: 1, timeMs: 0, text: EMPTY_COMMIT, blobs: [] }])
  const mark = { upTo: 1, tableIndexes: { allocations: 1 } }
  await engine.checkpoint(checkpointRows(await emptyStore(), count), mark)
  await engine.close()
}

const NO_ROW = { header: [], body: '' } as const

function emptyStore(): Promise<Store> {
  return Store.open({ engine: openMemoryEngine({ disk: new MemoryDisk() }), clock })
}

/** In the format of state/commit-codec.ts: header, then body. `check` would fail for any other. */
function* checkpointRows({ tables }: Store, count: number): Generator<CheckpointRow> {
  for (let at = 0; at < count; at++) {
    const row = anAllocationRow(at)
    const text = { common: '', steady: '', body: JSON.stringify(row) }
    const takeBack = tables.allocations.put(row.ID, { indexes: [1, 1], text })
    const { header, body } = tables.allocations.findEncoded(row.ID) ?? NO_ROW
    takeBack()
    yield { table: 'allocations', key: row.ID, text: `${JSON.stringify(header)}\n${body}` }
  }
}
