import { errorMessage } from '@reeve/kit/fault.ts'
import {
  decodeCommit,
  wholeText,
  type BlobChange,
  type CheckpointRow,
  type CommittedRow,
  type MovableEngine,
  type StoredBlob,
} from '../../state/index.ts'
import * as data from './data-directory.ts'
import * as layout from './layout.ts'
import { salvageDatabase, type SalvagedDatabase } from './leveldb/salvage-database.ts'
import { salvageLog, type SalvagedLog } from './log/salvage-log.ts'
import { storageFault } from './storage-faults.ts'
import { unescapeText } from './text-escape.ts'

/** What is written at once. */
const BATCH_ITEMS = 1_000
const BATCH_BYTES = 4 * 1024 * 1024

/** What came of a salvage. */
export interface Salvaged {
  readonly lastIndex: number
  readonly rows: number
  /** How many of the rows are from the log: newer than the checkpoint, or lost from it. */
  readonly rowsOfLog: number
  readonly blobs: number
  /** What could not be read: files and bytes, keys, indexes. Empty when nothing is lost. */
  readonly lost: readonly string[]
}

/**
 * Brings every readable row and blob of a storage that nobody has open into an empty engine. The
 * log itself stays behind: the new storage begins with a checkpoint at the last index. Changes
 * nothing in the directory.
 */
export async function salvageStorage(directory: string, to: MovableEngine): Promise<Salvaged> {
  const paths = data.dataPathsOf(directory)
  await data.assertUnlocked(paths)
  const lost: string[] = []
  const reached = await data.readReached(paths).catch(() => {
    lost.push('the file REACHED is unreadable, so the end of the log cannot be verified')
    return data.NOTHING_REACHED
  })
  const database = await salvageDatabase(paths.level)
  const log = await salvageLog(paths.log).catch((thrown: unknown) => {
    lost.push(errorMessage(thrown))
    return EMPTY_LOG
  })
  const mark = markIn(database)
  lost.push(...database.damages, ...lostEntries(log, mark?.upTo ?? 0, reached.lastIndex))
  if (mark === undefined) lost.push('the mark of the checkpoint is unreadable')
  // Where rows are lost, the kept log may still hold them.
  const isWhole = mark !== undefined && database.damages.length === 0
  const changes = await changesIn(log, isWhole ? mark.upTo : 0)
  const lastIndex = Math.max(log.lastIndex, mark?.upTo ?? 0, reached.lastIndex, changes.lastIndex)
  if (lastIndex === 0)
    throw storageFault('storage-corrupt', `Nothing of ${paths.root} is readable.`)
  return await writeTo(to, { database, changes, lastIndex, lost })
}

const EMPTY_LOG: SalvagedLog = {
  damages: [],
  firstIndex: 0,
  lastIndex: 0,
  tornBytes: 0,
  entries: async function* () {},
}

/** Damage to entries that the checkpoint holds costs nothing. */
function lostEntries(log: SalvagedLog, upTo: number, reached: number): string[] {
  const lost = log.damages.filter(({ fromIndex }) => fromIndex > upTo).map(({ what }) => what)
  const end = Math.max(log.lastIndex, upTo)
  if (reached > end) lost.push(`log entries ${end + 1} to ${reached} are missing`)
  return lost
}

function markIn(database: SalvagedDatabase): { upTo: number } | undefined {
  const value = database.get(layout.metaKeys.checkpoint)
  if (value === undefined) return undefined
  try {
    const text = layout.unseal(layout.metaKeys.checkpoint, Buffer.from(value).toString('utf8'))
    const { upTo } = Object(JSON.parse(text))
    return Number.isSafeInteger(upTo) ? { upTo } : undefined
  } catch (thrown) {
    if (thrown instanceof layout.UnreadableValue || thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

interface Changes {
  /** By `<table> <key>`, as written last in the log. */
  readonly rows: ReadonlyMap<string, CommittedRow & { readonly index: number }>
  readonly blobs: ReadonlyMap<string, BlobChange>
  readonly lastIndex: number
}

/** What the readable entries behind an index make of rows and blobs. */
async function changesIn(log: SalvagedLog, after: number): Promise<Changes> {
  const rows = new Map<string, CommittedRow & { readonly index: number }>()
  const blobs = new Map<string, BlobChange>()
  for await (const entry of log.entries()) {
    if (entry.index <= after) continue
    for (const row of decodeCommit(entry.text).rows)
      rows.set(`${row.table} ${row.key}`, { ...row, index: entry.index })
    for (const blob of entry.blobs) blobs.set(blob.key, blob)
  }
  return { rows, blobs, lastIndex: log.lastIndex }
}

interface Found {
  readonly database: SalvagedDatabase
  readonly changes: Changes
  readonly lastIndex: number
  readonly lost: string[]
}

async function writeTo(to: MovableEngine, found: Found): Promise<Salvaged> {
  const { changes, lastIndex, lost } = found
  await to.beginAt(lastIndex + 1)
  const writer = new BatchWriter(to, lastIndex)
  for await (const [key, value] of found.database.pairs()) {
    const item = decoded(key, value, lost)
    if (item === undefined) continue
    if ('bytes' in item) {
      if (!changes.blobs.has(item.key)) await writer.blob(item)
    } else if (!isOutdated(item, changes)) await writer.row(item)
  }
  const checkpointed = writer.rows
  for (const row of changes.rows.values())
    if (row.header !== undefined && !writer.has(row)) await writer.row(toCheckpointRow(row))
  for (const { key, bytes } of changes.blobs.values())
    if (bytes !== undefined) await writer.blob({ key, bytes })
  await writer.end()
  return {
    lastIndex,
    rows: writer.rows,
    rowsOfLog: writer.rows - checkpointed,
    blobs: writer.blobs,
    lost,
  }
}

/** A row or a blob; undefined for other keys. What is unreadable is added to `lost`. */
function decoded(
  key: string,
  value: Uint8Array,
  lost: string[],
): CheckpointRowText | StoredBlob | undefined {
  try {
    if (key.startsWith(layout.blobRange.gte))
      return { key: layout.blobNameOf(key), bytes: layout.fromBlobValue(key, value) }
    if (!key.startsWith(layout.rowRange.gte)) return undefined
    layout.assertRowValue(key, value)
    const stored = Buffer.from(value.subarray(layout.CRC_DIGITS)).toString('utf8')
    return { ...layout.rowNameOf(key), text: unescapeText(stored) }
  } catch (thrown) {
    if (!(thrown instanceof layout.UnreadableValue)) throw thrown
    lost.push(`${nameOf(key)}: ${thrown.message}`)
    return undefined
  }
}

interface CheckpointRowText {
  readonly table: string
  readonly key: string
  readonly text: string
}

function nameOf(key: string): string {
  if (key.startsWith(layout.blobRange.gte)) return `the blob ${layout.blobNameOf(key)}`
  const { table, key: row } = layout.rowNameOf(key)
  return `the row ${row} of table ${table}`
}

/** Whether the log has a later value of a row, or its deletion. */
function isOutdated({ table, key, text }: CheckpointRowText, { rows }: Changes): boolean {
  const change = rows.get(`${table} ${key}`)
  if (change === undefined) return false
  // The first line of a row's text: [create index, modify index, …] (state/codec.ts).
  const modified = Number(/^\[\d+,(\d+)/.exec(text)?.[1] ?? 0)
  return change.index > modified
}

/** Without the groups of its table, which are worked out from the row when it is loaded. */
function toCheckpointRow({ table, key, header, text }: CommittedRow): CheckpointRowText {
  const [created, modified] = header ?? [0, 0]
  return { table, key, text: `${JSON.stringify([created, modified, ''])}\n${wholeText(text)}` }
}

/** Writes rows and blobs in batches. */
class BatchWriter {
  readonly #to: MovableEngine
  readonly #upTo: number
  readonly #written = new Set<string>()
  #rowBatch: CheckpointRow[] = []
  #blobBatch: StoredBlob[] = []
  #bytes = 0
  rows = 0
  blobs = 0

  constructor(to: MovableEngine, upTo: number) {
    this.#to = to
    this.#upTo = upTo
  }

  has({ table, key }: { readonly table: string; readonly key: string }): boolean {
    return this.#written.has(`${table} ${key}`)
  }

  async row(row: CheckpointRowText): Promise<void> {
    this.#written.add(`${row.table} ${row.key}`)
    this.#rowBatch.push(row)
    this.rows++
    await this.#added(row.text.length)
  }

  async blob(blob: StoredBlob): Promise<void> {
    // The bytes may be part of a file that is read next.
    this.#blobBatch.push({ key: blob.key, bytes: Uint8Array.from(blob.bytes) })
    this.blobs++
    await this.#added(blob.bytes.length)
  }

  async end(): Promise<void> {
    await this.#to.putBlobs(this.#blobBatch)
    // Without indexes of tables: each then counts as written at the last index.
    await this.#to.checkpoint(this.#rowBatch, { upTo: this.#upTo, tableIndexes: {} })
    this.#rowBatch = []
    this.#blobBatch = []
    this.#bytes = 0
  }

  async #added(bytes: number): Promise<void> {
    this.#bytes += bytes
    const items = this.#rowBatch.length + this.#blobBatch.length
    if (this.#bytes >= BATCH_BYTES || items >= BATCH_ITEMS) await this.end()
  }
}
