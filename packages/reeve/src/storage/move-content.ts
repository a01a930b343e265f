import { createHash } from 'node:crypto'
import {
  storedTextOf,
  type CheckpointRow,
  type LogEntry,
  type MovableEngine,
  type StoredBlob,
  type StorageEngine,
} from '../state/index.ts'

/** What is written at once. */
const BATCH_BYTES = 1024 * 1024
const BATCH_ITEMS = 1_000

/** What one kind of content amounts to: two that are alike hold the same, in whatever order. */
export interface Tally {
  readonly count: number
  /** Of all items together, as hex digits. */
  readonly digest: string
}

/** What an engine holds, by name: `table jobs`, `log`, `blobs`, `position`. */
export type ContentSummary = ReadonlyMap<string, Tally>

/** Whether nothing was ever written. */
export async function isEmptyEngine(engine: MovableEngine): Promise<boolean> {
  if (engine.opened.lastIndex > 0) return false
  for await (const page of engine.load()) if (page.length > 0) return false
  for await (const blob of engine.blobs()) return blob === undefined
  return true
}

/** Copies everything into an empty engine: blobs, the log with its indexes, then the checkpoint. */
export async function copyContent(from: MovableEngine, to: MovableEngine): Promise<void> {
  const { firstIndex, checkpoint } = from.opened
  if (firstIndex > 1) await to.beginAt(firstIndex)
  for await (const blobs of batchesOf(from.blobs(), ({ bytes }: StoredBlob) => bytes.length))
    await to.putBlobs(blobs)
  for await (const entries of batchesOf(from.read(firstIndex), ({ text }: LogEntry) => text.length))
    await to.append(entries)
  for await (const page of from.load()) {
    const rows: CheckpointRow[] = page.map((row) => {
      return { table: row.table, key: row.key, text: storedTextOf(row) }
    })
    // The mark stays until the last of them is there.
    await to.checkpoint(rows, { upTo: firstIndex - 1, tableIndexes: {} })
  }
  await to.checkpoint([], checkpoint)
}

async function* batchesOf<T>(items: AsyncIterable<T>, sizeOf: (item: T) => number) {
  let batch: T[] = []
  let bytes = 0
  for await (const item of items) {
    batch.push(item)
    bytes += sizeOf(item)
    if (bytes < BATCH_BYTES && batch.length < BATCH_ITEMS) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

/** Reads everything and sums it up, item by item. */
export async function summarize(engine: MovableEngine): Promise<ContentSummary> {
  const tallies = new Map<string, RunningTally>()
  const add = (name: string, ...parts: readonly (string | Uint8Array)[]): void => {
    const tally = tallies.get(name) ?? new RunningTally()
    tallies.set(name, tally)
    tally.add(parts)
  }
  add('position', JSON.stringify(positionOf(engine)))
  for await (const page of engine.load())
    for (const row of page) add(`table ${row.table}`, row.key, storedTextOf(row))
  for await (const { index, timeMs, text } of engine.read(1))
    add('log', String(index), String(timeMs), text)
  for await (const { key, bytes } of engine.blobs()) add('blobs', key, bytes)
  return new Map([...tallies].map(([name, tally]) => [name, tally.result]))
}

/** With the names of tables in order, which JSON would otherwise keep as they came. */
function positionOf({ opened }: StorageEngine): unknown {
  const { lastIndex, firstIndex, checkpoint } = opened
  const tables = Object.entries(checkpoint.tableIndexes).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [lastIndex, firstIndex, checkpoint.upTo, tables]
}

/** What two summaries do not agree on. */
export function differencesOf(a: ContentSummary, b: ContentSummary): readonly string[] {
  const names = [...new Set([...a.keys(), ...b.keys()])].toSorted()
  return names.filter((name) => {
    const [one, other] = [a.get(name), b.get(name)]
    return one?.count !== other?.count || one?.digest !== other?.digest
  })
}

const DIGEST_BITS = 256n
const DIGEST_MASK = (1n << DIGEST_BITS) - 1n

/** The sum of the digests of all items: the order does not matter, and an item twice does. */
class RunningTally {
  #count = 0
  #sum = 0n

  add(parts: readonly (string | Uint8Array)[]): void {
    const hash = createHash('sha256')
    for (const part of parts) {
      // As UTF-16, because a text may hold what UTF-8 does not.
      const bytes = typeof part === 'string' ? Buffer.from(part, 'utf16le') : part
      hash.update(`${bytes.length}:`).update(bytes)
    }
    this.#count++
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) & DIGEST_MASK
  }

  get result(): Tally {
    return { count: this.#count, digest: this.#sum.toString(16).padStart(64, '0') }
  }
}
