import type { SnapshotLine } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { storedRowProblem } from '../model/stored/index.ts'
import {
  snapshotEntry,
  Store,
  type BlobChange,
  type SnapshotRow,
  type MigratableEngine,
  type StorageEngine,
  SnapshotChecker,
} from '../state/index.ts'
import { systemClock } from './system.ts'

/** Rows per write. */
const BATCH_ROWS_MAX = 1_000
const BATCH_BYTES_MAX = 8 * 1024 * 1024

interface RestoreResult {
  readonly index: number
  readonly rows: number
}

/** A storage engine that can start at any index. */
type RestorableEngine = StorageEngine & Pick<MigratableEngine, 'startLogAt'>

interface RestoreOptions {
  /** The engine of the target storage. */
  readonly engine: RestorableEngine
  /** Reopens the target to verify the result. */
  readonly reopen: () => Promise<StorageEngine>
  /** The lines of a validated snapshot. */
  readonly lines: AsyncIterable<SnapshotLine>
  /** The last index of the snapshot. */
  readonly upTo: number
}

/**
 * Restores a snapshot into an empty storage, then loads it as a server would, to find errors now.
 * Rejects with a Fault: `storage-foreign` if the storage is not empty.
 */
export async function restoreSnapshot(restoring: RestoreOptions): Promise<RestoreResult> {
  const { engine, reopen, lines, upTo } = restoring
  if (engine.initialPosition.lastIndex > 0) {
    throw new Fault('storage-foreign', 'The storage is not empty: it holds a state already.')
  }
  await writeSnapshot(engine, lines, upTo)
  await engine.close()
  return await verifyRestored(await reopen())
}

async function writeSnapshot(
  engine: RestorableEngine,
  lines: AsyncIterable<SnapshotLine>,
  upTo: number,
): Promise<void> {
  const timeMs = systemClock.nowMs()
  // The next index must be greater than the indexes in the restored rows.
  if (upTo > 0) await engine.startLogAt(upTo + 1)
  let index = upTo
  for await (const part of batchLines(lines)) {
    index += 1
    await engine.append([snapshotEntry(part, { index, timeMs })])
  }
}

interface SnapshotBatch {
  readonly rows: SnapshotRow[]
  readonly blobs: BlobChange[]
}

/** Groups lines into batches that are written at once. */
async function* batchLines(lines: AsyncIterable<SnapshotLine>): AsyncGenerator<SnapshotBatch> {
  let part: SnapshotBatch = { rows: [], blobs: [] }
  let bytes = 0
  for await (const line of lines) {
    if ('Blob' in line) {
      const data = Buffer.from(line.Data, 'base64')
      part.blobs.push({ key: line.Blob, bytes: data })
      bytes += data.length
    } else if ('Row' in line) {
      const [table, key, createIndex, modifyIndex] = line.Row
      part.rows.push({ table, key, indexes: [createIndex, modifyIndex], body: line.Body })
      bytes += line.Body.length
    }
    if (bytes < BATCH_BYTES_MAX && part.rows.length < BATCH_ROWS_MAX) continue
    yield part
    part = { rows: [], blobs: [] }
    bytes = 0
  }
  if (part.rows.length + part.blobs.length > 0) yield part
}

/**
 * Loads the restored state. Closing the store writes a checkpoint, which makes the first start of
 * the server fast.
 */
async function verifyRestored(engine: StorageEngine): Promise<RestoreResult> {
  const store = await Store.open({ engine, clock: systemClock })
  const rows = Object.values(store.tables).reduce((sum, { size }) => sum + size, 0)
  const { index } = store
  await store.close()
  return { index, rows }
}

type RowLine = Extract<SnapshotLine, { readonly Row: unknown }>

/**
 * Creates a check that finds invalid rows before a snapshot is written to a storage. The checksum
 * only proves that the file is unchanged.
 */
export function createSnapshotRowCheck(): (line: RowLine, upTo: number) => string | undefined {
  let checker: SnapshotChecker | undefined
  return ({ Row: [table, key, ...indexes], Body }, upTo) => {
    checker ??= new SnapshotChecker(upTo)
    const row = parse(Body)
    if (row === undefined) return 'its body is not JSON'
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      return 'its body is not a JSON object'
    return checker.findProblem({ table, key, indexes, row }) ?? storedRowProblem(table, row)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}
