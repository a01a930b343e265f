import type { CheckpointMark, EnginePosition, LogEntry } from '../../state/index.ts'
import * as data from './data-directory.ts'
import { openDatabase, ROW_THREAD_BYTES, WRITE_BUFFER_BYTES } from './database.ts'
import { blobOperation, EmbeddedEngine, metaOperation } from './embedded-engine.ts'
import * as layout from './layout.ts'
import { DamagedDatabase, inspectDatabase } from './leveldb/inspect-database.ts'
import type { TableEntry } from './leveldb/manifest.ts'
import { inspectLog, type InspectedLog } from './log/inspect-log.ts'
import { DamagedLog } from './log/log-file.ts'
import { LogFiles, type LogFilesOptions } from './log/log-files.ts'
import { forgetOldLog, inspectOldLog, moveOldLog } from './log/move-log.ts'
import { clearRemoved, RemovedFiles } from './removed-files.ts'
import { Reserve } from './reserve.ts'
import { toStorageFault } from './storage-faults.ts'
import { recordWriter } from './writer-version.ts'
import { assertReached, readPosition, type Stored } from './stored-position.ts'

export interface EmbeddedOptions extends Pick<LogFilesOptions, 'fileBytesMax' | 'disk'> {
  /** Where it reports what an operator should know of although nothing is wrong. */
  readonly log?: StorageLog
  /** How much the database gathers in memory before it sorts it into a table. */
  readonly writeBufferBytes?: number
  /** From how many bytes of rows on a thread reads them at a start. */
  readonly rowThreadBytes?: number
  /** The version of this program, which is recorded. */
  readonly version?: string
  /** Space that is kept for a full disk; none unless given. */
  readonly reserveBytes?: number
  /** The disk is full: the reserve is given back before anything is written. */
  readonly usesReserve?: boolean
}

/** Takes what the storage reports. */
export interface StorageLog {
  warn(fields: object, message: string): void
}

/**
 * Opens the storage in a directory, creating both when they are not there. Rejects with a Fault
 * that says what is wrong and what to do (`storage-corrupt`, `-version`, `-locked`, `-unwritable`,
 * `-full`, `-foreign`, `-failed`), and then leaves the directory as it was.
 */
export async function openEmbeddedEngine(
  directory: string,
  options: EmbeddedOptions = {},
): Promise<EmbeddedEngine> {
  const paths = data.dataPathsOf(directory)
  assertNotHere(paths)
  openHere.add(paths.root)
  try {
    return await openAt(paths, options)
  } catch (thrown) {
    openHere.delete(paths.root)
    throw toStorageFault(thrown, paths.root, 'opening it')
  }
}

/** Rejects with `storage-locked` when somebody has the storage in a directory open. */
export async function assertUnused(directory: string): Promise<void> {
  const paths = data.dataPathsOf(directory)
  assertNotHere(paths)
  await data.assertUnlocked(paths)
}

function assertNotHere(paths: data.DataPaths): void {
  if (openHere.has(paths.root)) throw data.lockedFault(paths, 'this process already')
}

/** The database's lock does not tell two openings by one process apart: see directory-lock.ts. */
const openHere = new Set<string>()

async function openAt(paths: data.DataPaths, options: EmbeddedOptions): Promise<EmbeddedEngine> {
  const state = await data.examineDirectory(paths)
  await data.assertUnlocked(paths)
  await data.assertWritable(paths, state)
  const bufferBytes = options.writeBufferBytes ?? WRITE_BUFFER_BYTES
  const create = state !== 'ready'
  const reserve = new Reserve(paths, options.reserveBytes ?? 0)
  const isShort = options.usesReserve === true
  if (isShort) await reserve.release()
  const found = create ? await prepareNew(paths) : await inspect(paths)
  const rowThreadBytes = options.rowThreadBytes ?? ROW_THREAD_BYTES
  const removed = new RemovedFiles(paths.removed, paths.level)
  const onRotation = (): void => removed.follow()
  const how = { bufferBytes, rowThreadBytes, create, onRotation }
  const database = await openDatabase(paths, how)
  try {
    const stored = { paths, database }
    if (create) await initialise(stored)
    const files = create ? await inspectLog(paths.log, 0) : found.log
    const logOptions = { ...options, remove: (path: string) => removed.take(path) }
    await removed.begin()
    const { log, opened } = await openLog(stored, { ...found, log: files }, logOptions)
    const onClosed = (): void => void openHere.delete(paths.root)
    if (options.version !== undefined && !isShort)
      await recordWriter(paths, options.version, options.log)
    if (!isShort) reserve.fill()
    const parts = { paths, database, log, removed, reserve, isShort, opened, onClosed }
    return new EmbeddedEngine(parts)
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}

/** What the files of a directory say before anything of it is opened to be written to. */
interface Found {
  readonly reached: data.Reached
  /** Undefined when the log is in the database, or nowhere yet. */
  readonly log: InspectedLog | undefined
}

async function prepareNew(paths: data.DataPaths): Promise<Found> {
  await data.assertSpace(paths, 0)
  await data.beginDirectory(paths)
  return { reached: data.NOTHING_REACHED, log: undefined }
}

async function inspect(paths: data.DataPaths): Promise<Found> {
  const reached = await data.readReached(paths)
  const isInFiles = (await data.readFormat(paths)) >= data.LOG_FILES_FORMAT
  const skip = (table: TableEntry): boolean => isHistory(table, reached)
  try {
    const { walBytes } = await inspectDatabase(paths.level, { skip, wal: reached.wal })
    const log = isInFiles ? await inspectLog(paths.log, reached.upTo) : undefined
    if (log !== undefined) assertReached(paths, 'log ends', [log.end.index - 1, reached.lastIndex])
    // A disk that became full may be full of these.
    await clearRemoved(paths.removed)
    await data.assertSpace(paths, walBytes)
    return { reached, log }
  } catch (thrown) {
    // A process that started meanwhile moves files about: then they are in use, not damaged.
    await data.assertUnlocked(paths)
    if (!(thrown instanceof DamagedDatabase || thrown instanceof DamagedLog)) throw thrown
    throw data.damaged(paths, thrown.message, thrown)
  }
}

interface OpenLogOptions extends LogFilesOptions {
  readonly log?: StorageLog
}

interface OpenedLog {
  readonly log: LogFiles
  readonly opened: EnginePosition
}

/** Everything is checked before anything is changed. */
async function openLog(
  stored: Stored,
  { reached, log: inspected }: Found,
  options: OpenLogOptions,
): Promise<OpenedLog> {
  if (inspected === undefined) return await openOldLog(stored, reached, options)
  const { files, end } = inspected
  const firstIndex = files[0]?.places[0]?.index ?? end.index
  const lastIndex = end.index - 1
  const opened = await readPosition(stored, reached, { firstIndex, lastIndex })
  const log = await LogFiles.open(stored.paths.log, inspected, options)
  reportTornTail(inspected, options.log)
  reportDropped(inspected, opened.firstIndex, options.log)
  try {
    const { upTo } = opened.checkpoint
    if (inspected.blobsEnd > upTo + 1) await putBlobs(stored, log.read(upTo + 1, lastIndex))
    await forgetOldLog(stored)
  } catch (thrown) {
    await log.close()
    throw thrown
  }
  return { log, opened }
}

/** A write that a crash or a power cut interrupted. Nobody was told that it had succeeded. */
function reportTornTail({ end }: InspectedLog, log: StorageLog | undefined): void {
  if (!end.isTorn) return
  const index = end.index - 1
  log?.warn(
    { bytes: end.tornBytes, index },
    `cut ${end.tornBytes} bytes behind index ${index} of the commit log: the last write was ` +
      'interrupted, and had not been acknowledged',
  )
}

function reportDropped({ dropped }: InspectedLog, from: number, log: StorageLog | undefined): void {
  if (dropped.length === 0) return
  log?.warn(
    { index: from },
    `the kept log is damaged: ${dropped.join('; ')}. The checkpoint holds all of it, so no state ` +
      `is lost; event streams can resume from index ${from}. Check the disk`,
  )
}

async function openOldLog(
  stored: Stored,
  reached: data.Reached,
  options: LogFilesOptions,
): Promise<OpenedLog> {
  const old = await inspectOldLog(stored)
  const opened = await readPosition(stored, reached, old)
  const log = await moveOldLog(stored, old, options)
  try {
    await data.upgradeFormat(stored.paths)
    await forgetOldLog(stored)
  } catch (thrown) {
    await log.close()
    throw thrown
  }
  return { log, opened }
}

/** The log is durable before the blobs of its entries are: a crash in between left them there. */
async function putBlobs(
  { database }: Stored,
  pages: AsyncIterable<readonly LogEntry[]>,
): Promise<void> {
  for await (const page of pages) {
    const blobs = page.flatMap((entry) => entry.blobs)
    if (blobs.length > 0) await database.write(blobs.map(blobOperation))
  }
}

/**
 * Blobs, and log entries that the checkpoint contains, are not needed to start. They may be most of
 * the data, and are checked when they are read.
 */
function isHistory(table: TableEntry, reached: data.Reached): boolean {
  return table.firstKey >= 'b' && table.lastKey <= layout.logKey(reached.upTo)
}

/** An empty database becomes an empty storage. Creation that was interrupted late finds it done. */
async function initialise({ paths, database }: Stored): Promise<void> {
  if ((await database.getText(layout.metaKeys.format)) === undefined) {
    const mark: CheckpointMark = { upTo: 0, tableIndexes: {} }
    await database.write([
      metaOperation('format', data.FORMAT_VERSION),
      metaOperation('checkpoint', mark),
      metaOperation('first', 1),
    ])
  }
  await (await LogFiles.create(paths.log, 1)).close()
  await data.writeReached(paths, data.NOTHING_REACHED)
  await data.completeDirectory(paths)
}
