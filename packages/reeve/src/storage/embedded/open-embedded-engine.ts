import type { Logger } from '@reeve/kit/log.ts'
import type { CheckpointPosition, EnginePosition, LogEntry } from '../../state/index.ts'
import * as data from './data-directory.ts'
import {
  openDatabase,
  LOADER_THREAD_MIN_BYTES,
  WRITE_BUFFER_BYTES,
  type WriteOperation,
} from './row-database.ts'
import { blobOperation, EmbeddedEngine, metadataOperation } from './embedded-engine.ts'
import * as layout from './row-format.ts'
import { CorruptDatabaseError, verifyDatabase } from './leveldb/verify-database.ts'
import type { TableEntry } from './leveldb/record-log.ts'
import { scanLog, type LogScan, CorruptLogError } from './log/segment.ts'
import { SegmentedLog, type SegmentedLogOptions } from './log/segmented-log.ts'
import { clearRetired, FileReaper } from './file-reaper.ts'
import { DiskReserve } from './reserve.ts'
import { toStorageFault } from './storage-faults.ts'
import { corruptDirectory, recordWriterVersion } from './data-directory.ts'
import {
  assertNotBehind,
  readPosition,
  type OpenStorage,
  missingEntry,
  readMetadata,
} from './stored-position.ts'

export interface EmbeddedEngineOptions extends Pick<
  SegmentedLogOptions,
  'segmentBytesMax' | 'disk'
> {
  /** Receives warnings for operators. */
  readonly storageLog?: Pick<Logger, 'warn'>
  /** Size of the write buffer of the database. */
  readonly writeBufferBytes?: number
  /** Size of the rows from which a loader thread is used at start. */
  readonly rowThreadBytes?: number
  /** Version of this program, which is recorded. */
  readonly version?: string
  /** Size of the disk reserve; 0 by default. */
  readonly reserveBytes?: number
  /** True if the disk is full: the reserve is released before anything is written. */
  readonly usesReserve?: boolean
}

/**
 * Opens or creates the storage in a directory. Rejects with a Fault that states problem and remedy
 * (`storage-corrupt`, `-version`, `-locked`, `-unwritable`, `-full`, `-foreign`, `-failed`) and
 * leaves the directory unchanged in that case.
 */
export async function openEmbeddedEngine(
  directory: string,
  options: EmbeddedEngineOptions = {},
): Promise<EmbeddedEngine> {
  const paths = data.dataPathsOf(directory)
  assertNotOpenHere(paths)
  openDirectories.add(paths.root)
  try {
    return await openDirectory(paths, options)
  } catch (thrown) {
    openDirectories.delete(paths.root)
    throw toStorageFault(thrown, paths.root, 'opening it')
  }
}

/** Rejects with `storage-locked` if the storage is open in any process. */
export async function assertUnused(directory: string): Promise<void> {
  const paths = data.dataPathsOf(directory)
  assertNotOpenHere(paths)
  await data.assertUnlocked(paths)
}

function assertNotOpenHere(paths: data.DataPaths): void {
  if (openDirectories.has(paths.root)) throw data.lockedFault(paths, 'this process already')
}

/**
 * Directories open in this process, which the lock of the database cannot detect: see
 * directory-lock.ts.
 */
const openDirectories = new Set<string>()

async function openDirectory(
  paths: data.DataPaths,
  options: EmbeddedEngineOptions,
): Promise<EmbeddedEngine> {
  const state = await data.inspectDirectory(paths)
  await data.assertUnlocked(paths)
  await data.assertWritable(paths, state)
  const bufferBytes = options.writeBufferBytes ?? WRITE_BUFFER_BYTES
  const create = state !== 'ready'
  const reserve = new DiskReserve(paths, options.reserveBytes ?? 0)
  const isDiskFull = options.usesReserve === true
  if (isDiskFull) await reserve.release()
  const verified = create ? await createNew(paths) : await verifyFiles(paths)
  const rowThreadBytes = options.rowThreadBytes ?? LOADER_THREAD_MIN_BYTES
  const fileReaper = new FileReaper(paths.removed, paths.database)
  const onRotation = (): void => fileReaper.scan()
  const databaseOptions = { bufferBytes, rowThreadBytes, create, onRotation }
  const database = await openDatabase(paths, databaseOptions)
  try {
    const storage = { paths, database }
    if (create) await initializeEmpty(storage)
    const files = create ? await scanLog(paths.log, 0) : verified.log
    const logOptions = { ...options, remove: (path: string) => fileReaper.retire(path) }
    await fileReaper.start()
    const { log, opened } = await openLog(storage, { ...verified, log: files }, logOptions)
    const onClosed = (): void => void openDirectories.delete(paths.root)
    if (options.version !== undefined && !isDiskFull)
      await recordWriterVersion(paths, options.version, options.storageLog)
    if (!isDiskFull) reserve.fill()
    const parts = {
      paths,
      database,
      log,
      removed: fileReaper,
      reserve,
      isShort: isDiskFull,
      opened,
      onClosed,
    }
    return new EmbeddedEngine(parts)
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}

/** Result of verifying the files before any of them is opened for writing. */
interface VerifiedFiles {
  readonly highWaterMark: data.HighWaterMark
  /** Undefined if the log is still in the database or does not exist yet. */
  readonly log: LogScan | undefined
}

async function createNew(paths: data.DataPaths): Promise<VerifiedFiles> {
  await data.assertSpace(paths, 0)
  await data.createUnfinished(paths)
  return { highWaterMark: data.EMPTY_HIGH_WATER_MARK, log: undefined }
}

async function verifyFiles(paths: data.DataPaths): Promise<VerifiedFiles> {
  const reached = await data.readHighWaterMark(paths)
  const isInFiles = (await data.readFormat(paths)) >= data.LOG_FILES_FORMAT
  const skip = (table: TableEntry): boolean => isNeededLater(table, reached)
  try {
    const { walBytes } = await verifyDatabase(paths.database, { isSkipped: skip, wal: reached.wal })
    const log = isInFiles ? await scanLog(paths.log, reached.upTo) : undefined
    if (log !== undefined)
      assertNotBehind(paths, 'log ends', [log.end.index - 1, reached.lastIndex])
    // Retired files may be what filled the disk.
    await clearRetired(paths.removed)
    await data.assertSpace(paths, walBytes)
    return { highWaterMark: reached, log }
  } catch (thrown) {
    // Another process that started meanwhile moves files: then the storage is in use, not damaged.
    await data.assertUnlocked(paths)
    if (!(thrown instanceof CorruptDatabaseError || thrown instanceof CorruptLogError)) throw thrown
    throw data.corruptDirectory(paths, thrown.message, thrown)
  }
}

interface OpenLogOptions extends SegmentedLogOptions {
  readonly storageLog?: Pick<Logger, 'warn'>
}

interface OpenedLog {
  readonly log: SegmentedLog
  readonly opened: EnginePosition
}

/** Everything is verified before anything is changed. */
async function openLog(
  stored: OpenStorage,
  { highWaterMark, log: inspected }: VerifiedFiles,
  options: OpenLogOptions,
): Promise<OpenedLog> {
  if (inspected === undefined) return await openDatabaseLog(stored, highWaterMark, options)
  const { segments, end } = inspected
  const firstIndex = segments[0]?.sparseIndex[0]?.index ?? end.index
  const lastIndex = end.index - 1
  const opened = await readPosition(stored, highWaterMark, { firstIndex, lastIndex })
  const log = await SegmentedLog.open(stored.paths.log, inspected, options)
  reportTornTail(inspected, options.storageLog)
  reportSkippedDamage(inspected, opened.firstIndex, options.storageLog)
  try {
    const { upTo } = opened.checkpoint
    if (inspected.blobsEnd > upTo + 1) await restoreBlobs(stored, log.read(upTo + 1, lastIndex))
    await deleteDatabaseLog(stored)
  } catch (thrown) {
    await log.close()
    throw thrown
  }
  return { log, opened }
}

/** A write that a crash or power cut interrupted; it was never acknowledged. */
function reportTornTail({ end }: LogScan, log: Pick<Logger, 'warn'> | undefined): void {
  if (!end.isTorn) return
  const index = end.index - 1
  log?.warn(
    { bytes: end.tornBytes, index },
    `cut ${end.tornBytes} bytes behind index ${index} of the commit log: the last write was ` +
      'interrupted, and had not been acknowledged',
  )
}

function reportSkippedDamage(
  { skippedDamage }: LogScan,
  firstIndex: number,
  log: Pick<Logger, 'warn'> | undefined,
): void {
  if (skippedDamage.length === 0) return
  log?.warn(
    { index: firstIndex },
    `the kept log is damaged: ${skippedDamage.join('; ')}. The checkpoint holds all of it, so no state ` +
      `is lost; event streams can resume from index ${firstIndex}. Check the disk`,
  )
}

async function openDatabaseLog(
  stored: OpenStorage,
  reached: data.HighWaterMark,
  options: SegmentedLogOptions,
): Promise<OpenedLog> {
  const old = await verifyDatabaseLog(stored)
  const opened = await readPosition(stored, reached, old)
  const log = await moveDatabaseLog(stored, old, options)
  try {
    await data.upgradeFormat(stored.paths)
    await deleteDatabaseLog(stored)
  } catch (thrown) {
    await log.close()
    throw thrown
  }
  return { log, opened }
}

/**
 * Restores blobs from the log, which is durable before the blobs of its entries: a crash in between
 * leaves them only there.
 */
async function restoreBlobs(
  { database }: OpenStorage,
  pages: AsyncIterable<readonly LogEntry[]>,
): Promise<void> {
  for await (const page of pages) {
    const blobs = page.flatMap((entry) => entry.blobs)
    if (blobs.length > 0) await database.write(blobs.map(blobOperation))
  }
}

/**
 * True for tables with only blobs and checkpointed log entries, which a start does not need. They
 * may be most of the data and are verified when they are read.
 */
function isNeededLater(table: TableEntry, reached: data.HighWaterMark): boolean {
  return table.firstKey >= 'b' && table.lastKey <= layout.logKey(reached.upTo)
}

/** Initializes an empty storage. Idempotent if creation was interrupted late. */
async function initializeEmpty({ paths, database }: OpenStorage): Promise<void> {
  if ((await database.getString(layout.METADATA_KEYS.format)) === undefined) {
    const mark: CheckpointPosition = { upTo: 0, tableIndexes: {} }
    await database.write([
      metadataOperation('format', data.STORAGE_FORMAT),
      metadataOperation('checkpoint', mark),
      metadataOperation('first', 1),
    ])
  }
  await (await SegmentedLog.create(paths.log, 1)).close()
  await data.writeHighWaterMark(paths, data.EMPTY_HIGH_WATER_MARK)
  await data.markReady(paths)
}

const KEYS_PER_DELETE_BATCH = 2_000

/** Index range of a log stored in the database. */
interface DatabaseLog {
  readonly firstIndex: number
  readonly lastIndex: number
}

/**
 * Up to format 2 the log was stored in the database. Checks that no entry is missing; read-only.
 */
async function verifyDatabaseLog(stored: OpenStorage): Promise<DatabaseLog> {
  const { firstIndex, checkpoint } = await readMetadata(stored)
  let next = firstIndex
  const range = layout.logRange(firstIndex, Number.MAX_SAFE_INTEGER)
  for await (const keys of stored.database.keyPages(range))
    for (const key of keys) if (key !== layout.logKey(next++)) throw missingEntry(stored, next - 1)
  return { firstIndex, lastIndex: Math.max(next - 1, checkpoint.upTo) }
}

/** Copies the log from the database into files; the original remains until `deleteDatabaseLog`. */
async function moveDatabaseLog(
  { paths, database }: OpenStorage,
  { firstIndex, lastIndex }: DatabaseLog,
  options: SegmentedLogOptions,
): Promise<SegmentedLog> {
  const log = await SegmentedLog.create(paths.log, Math.min(firstIndex, lastIndex + 1), options)
  try {
    for await (const page of database.entryPages(layout.logRange(firstIndex, lastIndex)))
      await log.append(page.map(([key, value]) => layout.decodeLogValue(key, value)))
    return log
  } catch (thrown) {
    await log.close()
    if (!(thrown instanceof layout.ChecksumError)) throw thrown
    throw corruptDirectory(paths, `a log entry: ${thrown.message}`, thrown)
  }
}

/**
 * Removes the copied log from the database. The next start removes what an interrupted one left.
 */
async function deleteDatabaseLog({ database }: OpenStorage): Promise<void> {
  const range = layout.logRange(1, Number.MAX_SAFE_INTEGER)
  for await (const keys of database.keyPages(range))
    for (let at = 0; at < keys.length; at += KEYS_PER_DELETE_BATCH)
      await database.write(
        keys
          .slice(at, at + KEYS_PER_DELETE_BATCH)
          .map((key): WriteOperation => ({ type: 'del', key })),
      )
}
