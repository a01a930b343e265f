import type { CheckpointMark, MovableEngine } from '../../state/index.ts'
import * as data from './data-directory.ts'
import { openDatabase, WRITE_BUFFER_BYTES, type Database } from './database.ts'
import { EmbeddedEngine, metaOperation } from './embedded-engine.ts'
import * as layout from './layout.ts'
import { DamagedDatabase, inspectDatabase } from './leveldb/inspect-database.ts'
import type { TableEntry } from './leveldb/manifest.ts'
import { toStorageFault } from './storage-faults.ts'
import { readPosition } from './stored-position.ts'

interface EmbeddedOptions {
  /** How much the database gathers in memory before it sorts it into a table. */
  readonly writeBufferBytes?: number
}

/**
 * Opens the storage in a directory, creating both when they are not there. Rejects with a Fault
 * that says what is wrong and what to do (`storage-corrupt`, `-version`, `-locked`, `-unwritable`,
 * `-full`, `-foreign`, `-failed`), and then leaves the directory as it was.
 */
export async function openEmbeddedEngine(
  directory: string,
  options: EmbeddedOptions = {},
): Promise<MovableEngine> {
  const paths = data.dataPathsOf(directory)
  if (openHere.has(paths.root)) throw data.lockedFault(paths, 'this process already')
  openHere.add(paths.root)
  try {
    return await openAt(paths, options)
  } catch (thrown) {
    openHere.delete(paths.root)
    throw toStorageFault(thrown, paths.root, 'opening it')
  }
}

/** The database's lock does not tell two openings by one process apart: see directory-lock.ts. */
const openHere = new Set<string>()

async function openAt(paths: data.DataPaths, options: EmbeddedOptions): Promise<MovableEngine> {
  const state = await data.examineDirectory(paths)
  await data.assertUnlocked(paths)
  await data.assertWritable(paths, state)
  const bufferBytes = options.writeBufferBytes ?? WRITE_BUFFER_BYTES
  const create = state !== 'ready'
  const reached = create ? await prepareNew(paths) : await inspect(paths)
  const database = await openDatabase(paths, { bufferBytes, create })
  try {
    if (create) await initialise(paths, database)
    const opened = await readPosition({ paths, database }, reached)
    await data.upgradeFormat(paths)
    const onClosed = (): void => void openHere.delete(paths.root)
    return new EmbeddedEngine({ paths, database, opened, onClosed })
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}

async function prepareNew(paths: data.DataPaths): Promise<data.Reached> {
  await data.assertSpace(paths, 0)
  await data.beginDirectory(paths)
  return data.NOTHING_REACHED
}

async function inspect(paths: data.DataPaths): Promise<data.Reached> {
  const reached = await data.readReached(paths)
  const skip = (table: TableEntry): boolean => isHistory(table, reached)
  const inspecting = inspectDatabase(paths.level, { skip, wal: reached.wal })
  const { walBytes } = await inspecting.catch(async (thrown: unknown) => {
    // A process that started meanwhile moves files about: then they are in use, not damaged.
    await data.assertUnlocked(paths)
    if (!(thrown instanceof DamagedDatabase)) throw thrown
    throw data.damaged(paths, thrown.message, thrown)
  })
  await data.assertSpace(paths, walBytes)
  return reached
}

/**
 * Blobs, and log entries that the checkpoint contains, are not needed to start. They may be most of
 * the data, and are checked when they are read.
 */
function isHistory(table: TableEntry, reached: data.Reached): boolean {
  return table.firstKey >= 'b' && table.lastKey <= layout.logKey(reached.upTo)
}

/** An empty database becomes an empty storage. Creation that was interrupted late finds it done. */
async function initialise(paths: data.DataPaths, database: Database): Promise<void> {
  if ((await database.getText(layout.metaKeys.format)) === undefined) {
    const mark: CheckpointMark = { upTo: 0, tableIndexes: {} }
    await database.write([
      metaOperation('format', data.FORMAT_VERSION),
      metaOperation('checkpoint', mark),
      metaOperation('first', 1),
    ])
  }
  await data.writeReached(paths, data.NOTHING_REACHED)
  await data.completeDirectory(paths)
}
