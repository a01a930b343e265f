import type { SnapshotLine } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import {
  copiedEntry,
  Store,
  type BlobChange,
  type CopiedRow,
  type MovableEngine,
  type StorageEngine,
} from '../state/index.ts'
import { systemClock } from './system.ts'

/** What is written at once. */
const PART_ROWS = 1_000
const PART_BYTES = 8 * 1024 * 1024

interface Restored {
  readonly index: number
  readonly rows: number
}

/** An engine that can begin at any index. */
type RestorableEngine = StorageEngine & Pick<MovableEngine, 'beginAt'>

interface Restoring {
  /** Of the storage to be written. */
  readonly engine: RestorableEngine
  /** Opens it a second time, to see what became of it. */
  readonly reopen: () => Promise<StorageEngine>
  /** Of a snapshot whose every line was checked. */
  readonly lines: AsyncIterable<SnapshotLine>
  /** The index that the snapshot reaches to. */
  readonly upTo: number
}

/**
 * Brings a snapshot into an empty storage, then opens it as a server would: what cannot be loaded
 * is found now. Rejects with a Fault: `storage-foreign` when the storage is not empty.
 */
export async function restoreSnapshot(restoring: Restoring): Promise<Restored> {
  const { engine, reopen, lines, upTo } = restoring
  if (engine.opened.lastIndex > 0) {
    throw new Fault('storage-foreign', 'The storage is not empty: it holds a state already.')
  }
  await fill(engine, lines, upTo)
  await engine.close()
  return await lookAt(await reopen())
}

async function fill(
  engine: RestorableEngine,
  lines: AsyncIterable<SnapshotLine>,
  upTo: number,
): Promise<void> {
  const timeMs = systemClock.nowMs()
  // Rows carry the indexes of another storage; the index of this one must not be behind them.
  if (upTo > 0) await engine.beginAt(upTo + 1)
  let index = upTo
  for await (const part of partsOf(lines)) {
    index += 1
    await engine.append([copiedEntry(part, { index, timeMs })])
  }
}

interface Part {
  readonly rows: CopiedRow[]
  readonly blobs: BlobChange[]
}

/** Lines gathered into pieces that are written at once. */
async function* partsOf(lines: AsyncIterable<SnapshotLine>): AsyncGenerator<Part> {
  let part: Part = { rows: [], blobs: [] }
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
    if (bytes < PART_BYTES && part.rows.length < PART_ROWS) continue
    yield part
    part = { rows: [], blobs: [] }
    bytes = 0
  }
  if (part.rows.length + part.blobs.length > 0) yield part
}

/** A store checkpoints when it is closed, so that the first start is a short one. */
async function lookAt(engine: StorageEngine): Promise<Restored> {
  const store = await Store.open({ engine, clock: systemClock })
  const rows = Object.values(store.tables).reduce((sum, { size }) => sum + size, 0)
  const { index } = store
  await store.close()
  return { index, rows }
}
