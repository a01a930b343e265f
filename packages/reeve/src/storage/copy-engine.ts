import { createHash } from 'node:crypto'
import {
  joinStoredRow,
  type CheckpointRow,
  type LogEntry,
  type MigratableEngine,
  type StoredBlob,
  type StorageEngine,
} from '../state/index.ts'

/** Maximum size of a batch. */
const COPY_BATCH_BYTES = 1024 * 1024
const COPY_BATCH_ITEMS = 1_000

/** Order-independent digest of one kind of content. */
interface ContentDigest {
  readonly count: number
  /** Combined digest of all items, as hex digits. */
  readonly digest: string
}

/** Digests of the content of an engine by name: `table jobs`, `log`, `blobs`, `position`. */
export type EngineDigest = ReadonlyMap<string, ContentDigest>

/** True if nothing was ever written. */
export async function isEmptyEngine(engine: MigratableEngine): Promise<boolean> {
  if (engine.initialPosition.lastIndex > 0) return false
  for await (const page of engine.load()) if (page.length > 0) return false
  for await (const blob of engine.blobs()) return blob === undefined
  return true
}

/**
 * Copies all content into an empty engine: blobs, the log with its indexes, then the checkpoint.
 */
export async function copyEngine(
  source: MigratableEngine,
  target: MigratableEngine,
): Promise<void> {
  const { firstIndex, checkpoint } = source.initialPosition
  if (firstIndex > 1) await target.startLogAt(firstIndex)
  for await (const blobs of batchesOf(source.blobs(), ({ bytes }: StoredBlob) => bytes.length))
    await target.putBlobs(blobs)
  for await (const entries of batchesOf(
    source.read(firstIndex),
    ({ text }: LogEntry) => text.length,
  ))
    await target.append(entries)
  for await (const page of source.load()) {
    const rows: CheckpointRow[] = page.map((row) => {
      return { table: row.table, key: row.key, text: joinStoredRow(row) }
    })
    // The checkpoint moves only after all rows are copied.
    await target.checkpoint(rows, { upTo: firstIndex - 1, tableIndexes: {} })
  }
  await target.checkpoint([], checkpoint)
}

async function* batchesOf<T>(items: AsyncIterable<T>, sizeOf: (item: T) => number) {
  let batch: T[] = []
  let bytes = 0
  for await (const item of items) {
    batch.push(item)
    bytes += sizeOf(item)
    if (bytes < COPY_BATCH_BYTES && batch.length < COPY_BATCH_ITEMS) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

/** Reads all content and digests it item by item. */
export async function digestEngine(engine: MigratableEngine): Promise<EngineDigest> {
  const digests = new Map<string, DigestSum>()
  const add = (name: string, ...parts: readonly (string | Uint8Array)[]): void => {
    const digest = digests.get(name) ?? new DigestSum()
    digests.set(name, digest)
    digest.add(parts)
  }
  add('position', JSON.stringify(positionValue(engine)))
  for await (const page of engine.load())
    for (const row of page) add(`table ${row.table}`, row.key, joinStoredRow(row))
  for await (const { index, timeMs, text } of engine.read(1))
    add('log', String(index), String(timeMs), text)
  for await (const { key, bytes } of engine.blobs()) add('blobs', key, bytes)
  return new Map([...digests].map(([name, digest]) => [name, digest.result]))
}

/** Sorted by table name, because JSON keeps insertion order. */
function positionValue({ initialPosition }: StorageEngine): unknown {
  const { lastIndex, firstIndex, checkpoint } = initialPosition
  const tables = Object.entries(checkpoint.tableIndexes).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [lastIndex, firstIndex, checkpoint.upTo, tables]
}

/** Names of the content that differs. */
export function diffDigests(a: EngineDigest, b: EngineDigest): readonly string[] {
  const names = [...new Set([...a.keys(), ...b.keys()])].toSorted()
  return names.filter((name) => {
    const [one, other] = [a.get(name), b.get(name)]
    return one?.count !== other?.count || one?.digest !== other?.digest
  })
}

const DIGEST_BITS = 256n
const DIGEST_MASK = (1n << DIGEST_BITS) - 1n

/** Sum of the digests of all items: independent of order, sensitive to duplicates. */
class DigestSum {
  #count = 0
  #sum = 0n

  add(parts: readonly (string | Uint8Array)[]): void {
    const hash = createHash('sha256')
    for (const part of parts) {
      // UTF-16, because a text may contain what UTF-8 cannot represent.
      const bytes = typeof part === 'string' ? Buffer.from(part, 'utf16le') : part
      hash.update(`${bytes.length}:`).update(bytes)
    }
    this.#count++
    this.#sum = (this.#sum + BigInt(`0x${hash.digest('hex')}`)) & DIGEST_MASK
  }

  get result(): ContentDigest {
    return { count: this.#count, digest: this.#sum.toString(16).padStart(64, '0') }
  }
}
