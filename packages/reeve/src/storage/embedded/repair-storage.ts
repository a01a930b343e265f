import { readdir } from 'node:fs/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import {
  decodeCommit,
  joinRowJson,
  type BlobChange,
  type CheckpointRow,
  type CommittedRow,
  type MigratableEngine,
  type StoredBlob,
} from '../../state/index.ts'
import { unescapeText } from '../text-escape.ts'
import * as data from './data-directory.ts'
import * as layout from './row-format.ts'
import {
  findDatabaseDamage,
  salvageDatabase,
  type SalvagedDatabase,
} from './leveldb/verify-database.ts'
import { type SalvagedLog, salvageLog } from './log/salvage-log.ts'
import { storageFault } from './storage-faults.ts'

interface StorageProblem {
  readonly what: string
  /** True if a server refuses to start because of it. */
  readonly isFatal: boolean
}

/** Result of checking a storage that is not open. */
interface StorageCheck {
  readonly problems: readonly StorageProblem[]
  /** Observations that are not damage. */
  readonly notes: readonly string[]
  /** The last index of the log. */
  readonly lastIndex: number
  /** Index that the checkpoint reaches at least. */
  readonly upTo: number
  readonly files: number
}

/**
 * Reads every byte of a storage and verifies its checksums. Read-only. Rejects with a Fault if the
 * directory is not a storage, has another format, or is in use.
 */
export async function checkStorage(directory: string): Promise<StorageCheck> {
  const paths = data.dataPathsOf(directory)
  const problems: StorageProblem[] = []
  const addFatal = (what: string): void => void problems.push({ what, isFatal: true })
  const state = await data.inspectDirectory(paths).catch((thrown: unknown) => {
    if (!(thrown instanceof Fault) || thrown.kind !== 'storage-corrupt') throw thrown
    addFatal(thrown.message)
    return 'damaged'
  })
  await data.assertUnlocked(paths)
  if (state === 'absent' || state === 'empty')
    throw new Fault('storage-foreign', `${paths.root} holds no data of a server.`)
  const highWaterMark = await data.readHighWaterMark(paths).catch((thrown: unknown) => {
    if (state === 'ready') addFatal(errorMessage(thrown))
    return data.EMPTY_HIGH_WATER_MARK
  })
  for (const what of await findDatabaseDamage(paths.database, highWaterMark.wal)) addFatal(what)
  const log = await salvageLog(paths.log).catch((thrown: unknown) => {
    addFatal(errorMessage(thrown))
    return undefined
  })
  const { upTo } = highWaterMark
  for (const { fromIndex, message } of log?.problems ?? [])
    problems.push({ what: message, isFatal: fromIndex > upTo })
  const lastIndex = log?.lastIndex ?? 0
  if (log !== undefined && lastIndex < highWaterMark.lastIndex)
    addFatal(`the log ends at ${lastIndex}, but had come to ${highWaterMark.lastIndex}`)
  const notes =
    log !== undefined && log.tornBytes > 0
      ? [`${log.tornBytes} bytes behind index ${lastIndex} are of a write that was interrupted`]
      : []
  return { problems, notes, lastIndex, upTo, files: await countFiles(paths) }
}

async function countFiles({ database, log }: data.DataPaths): Promise<number> {
  const folders = await Promise.all([database, log].map((path) => readdir(path).catch(() => [])))
  return folders.flat().length
}

/** Maximum size of a batch. */
const BATCH_ITEMS = 1_000
const BATCH_BYTES = 4 * 1024 * 1024

/** Result of a salvage. */
export interface SalvageResult {
  readonly lastIndex: number
  readonly rows: number
  /**
   * Number of rows taken from the log because they are newer than the checkpoint or missing from
   * it.
   */
  readonly rowsOfLog: number
  readonly blobs: number
  /** Unreadable files, keys and indexes; empty if nothing is lost. */
  readonly lost: readonly string[]
}

/**
 * Copies every readable row and blob of a closed storage into an empty engine. The log is not
 * copied: the new storage starts with a checkpoint at the last index. The directory is not changed.
 */
export async function salvageStorage(
  directory: string,
  target: MigratableEngine,
): Promise<SalvageResult> {
  const paths = data.dataPathsOf(directory)
  await data.assertUnlocked(paths)
  const losses: string[] = []
  const reached = await data.readHighWaterMark(paths).catch(() => {
    losses.push('the file REACHED is unreadable, so the end of the log cannot be verified')
    return data.EMPTY_HIGH_WATER_MARK
  })
  const database = await salvageDatabase(paths.database)
  const log = await salvageLog(paths.log).catch((thrown: unknown) => {
    losses.push(errorMessage(thrown))
    return EMPTY_LOG
  })
  const checkpoint = readCheckpointIndex(database)
  losses.push(
    ...database.problems,
    ...findLostEntries(log, checkpoint?.upTo ?? 0, reached.lastIndex),
  )
  if (checkpoint === undefined) losses.push('the mark of the checkpoint is unreadable')
  // If rows are damaged, the log may still contain them.
  const isCheckpointIntact = checkpoint !== undefined && database.problems.length === 0
  const changes = await readLogChanges(log, isCheckpointIntact ? checkpoint.upTo : 0)
  const lastIndex = Math.max(
    log.lastIndex,
    checkpoint?.upTo ?? 0,
    reached.lastIndex,
    changes.lastIndex,
  )
  if (lastIndex === 0)
    throw storageFault('storage-corrupt', `Nothing of ${paths.root} is readable.`)
  return await writeContent(target, { database, changes, lastIndex, losses })
}

const EMPTY_LOG: SalvagedLog = {
  problems: [],
  firstIndex: 0,
  lastIndex: 0,
  tornBytes: 0,
  entries: async function* () {},
}

/** Damage to checkpointed entries loses nothing. */
function findLostEntries(log: SalvagedLog, upTo: number, reached: number): string[] {
  const losses = log.problems
    .filter(({ fromIndex }) => fromIndex > upTo)
    .map(({ message }) => message)
  const end = Math.max(log.lastIndex, upTo)
  if (reached > end) losses.push(`log entries ${end + 1} to ${reached} are missing`)
  return losses
}

function readCheckpointIndex(database: SalvagedDatabase): { upTo: number } | undefined {
  const value = database.getMetadata(layout.METADATA_KEYS.checkpoint)
  if (value === undefined) return undefined
  try {
    const text = layout.stripChecksum(
      layout.METADATA_KEYS.checkpoint,
      Buffer.from(value).toString('utf8'),
    )
    const { upTo } = Object(JSON.parse(text))
    return Number.isSafeInteger(upTo) ? { upTo } : undefined
  } catch (thrown) {
    if (thrown instanceof layout.ChecksumError || thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

interface LogChanges {
  /** By `<table> <key>`: the last value in the log. */
  readonly rows: ReadonlyMap<string, CommittedRow & { readonly index: number }>
  readonly blobs: ReadonlyMap<string, BlobChange>
  readonly lastIndex: number
}

/** Last values of rows and blobs in the readable entries after an index. */
async function readLogChanges(log: SalvagedLog, after: number): Promise<LogChanges> {
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

interface SalvagedContent {
  readonly database: SalvagedDatabase
  readonly changes: LogChanges
  readonly lastIndex: number
  readonly losses: string[]
}

async function writeContent(
  target: MigratableEngine,
  found: SalvagedContent,
): Promise<SalvageResult> {
  const { changes, lastIndex, losses } = found
  await target.startLogAt(lastIndex + 1)
  const writer = new BatchWriter(target, lastIndex)
  for await (const [key, value] of found.database.entries()) {
    const item = decodeEntry(key, value, losses)
    if (item === undefined) continue
    if ('bytes' in item) {
      if (!changes.blobs.has(item.key)) await writer.addBlob(item)
    } else if (!isOutdated(item, changes)) await writer.addRow(item)
  }
  const checkpointed = writer.rows
  for (const row of changes.rows.values())
    if (row.header !== undefined && !writer.has(row)) await writer.addRow(toCheckpointRow(row))
  for (const { key, bytes } of changes.blobs.values())
    if (bytes !== undefined) await writer.addBlob({ key, bytes })
  await writer.flush()
  return {
    lastIndex,
    rows: writer.rows,
    rowsOfLog: writer.rows - checkpointed,
    blobs: writer.blobs,
    lost: losses,
  }
}

/** A row or blob; undefined for other keys. Unreadable ones are added to `lost`. */
function decodeEntry(
  key: string,
  value: Uint8Array,
  losses: string[],
): CheckpointRowText | StoredBlob | undefined {
  try {
    if (key.startsWith(layout.BLOB_RANGE.gte))
      return { key: layout.parseBlobKey(key), bytes: layout.decodeBlobValue(key, value) }
    if (!key.startsWith(layout.ROW_RANGE.gte)) return undefined
    layout.assertRowValue(key, value)
    const stored = Buffer.from(value.subarray(layout.CRC_HEX_DIGITS)).toString('utf8')
    return { ...layout.parseRowKey(key), text: unescapeText(stored) }
  } catch (thrown) {
    if (!(thrown instanceof layout.ChecksumError)) throw thrown
    losses.push(`${describeKey(key)}: ${thrown.message}`)
    return undefined
  }
}

interface CheckpointRowText {
  readonly table: string
  readonly key: string
  readonly text: string
}

function describeKey(key: string): string {
  if (key.startsWith(layout.BLOB_RANGE.gte)) return `the blob ${layout.parseBlobKey(key)}`
  const { table, key: row } = layout.parseRowKey(key)
  return `the row ${row} of table ${table}`
}

/** True if the log has a later value or deletion of the row. */
function isOutdated({ table, key, text }: CheckpointRowText, { rows }: LogChanges): boolean {
  const change = rows.get(`${table} ${key}`)
  if (change === undefined) return false
  // The first line of a row's text: [create index, modify index, …] (state/commit-codec.ts).
  const modified = Number(/^\[\d+,(\d+)/.exec(text)?.[1] ?? 0)
  return change.index > modified
}

/** Omits the index keys, which are recomputed from the row when it is loaded. */
function toCheckpointRow({ table, key, header, text }: CommittedRow): CheckpointRowText {
  const [created, modified] = header ?? [0, 0]
  return { table, key, text: `${JSON.stringify([created, modified, ''])}\n${joinRowJson(text)}` }
}

/** Writes rows and blobs in batches. */
class BatchWriter {
  readonly #target: MigratableEngine
  readonly #upTo: number
  readonly #written = new Set<string>()
  #rowBatch: CheckpointRow[] = []
  #blobBatch: StoredBlob[] = []
  #bytes = 0
  rows = 0
  blobs = 0

  constructor(to: MigratableEngine, upTo: number) {
    this.#target = to
    this.#upTo = upTo
  }

  has({ table, key }: { readonly table: string; readonly key: string }): boolean {
    return this.#written.has(`${table} ${key}`)
  }

  async addRow(row: CheckpointRowText): Promise<void> {
    this.#written.add(`${row.table} ${row.key}`)
    this.#rowBatch.push(row)
    this.rows++
    await this.#flushIfFull(row.text.length)
  }

  async addBlob(blob: StoredBlob): Promise<void> {
    // Copy the bytes, which may be a slice of a reused buffer.
    this.#blobBatch.push({ key: blob.key, bytes: Uint8Array.from(blob.bytes) })
    this.blobs++
    await this.#flushIfFull(blob.bytes.length)
  }

  async flush(): Promise<void> {
    await this.#target.putBlobs(this.#blobBatch)
    // Without table indexes, every table counts as written at the last index.
    await this.#target.checkpoint(this.#rowBatch, { upTo: this.#upTo, tableIndexes: {} })
    this.#rowBatch = []
    this.#blobBatch = []
    this.#bytes = 0
  }

  async #flushIfFull(bytes: number): Promise<void> {
    this.#bytes += bytes
    const items = this.#rowBatch.length + this.#blobBatch.length
    if (this.#bytes >= BATCH_BYTES || items >= BATCH_ITEMS) await this.flush()
  }
}
