import type { WriteOperation } from '../row-database.ts'
import * as layout from '../row-format.ts'
import { corruptDirectory } from '../data-directory.ts'
import { missingEntry, readMetadata, type OpenStorage } from '../stored-position.ts'
import { SegmentedLog, type SegmentedLogOptions } from './segmented-log.ts'

const KEYS_PER_DELETE_BATCH = 2_000

/** Index range of a log stored in the database. */
export interface DatabaseLog {
  readonly firstIndex: number
  readonly lastIndex: number
}

/**
 * Up to format 2 the log was stored in the database. Checks that no entry is missing; read-only.
 */
export async function verifyDatabaseLog(stored: OpenStorage): Promise<DatabaseLog> {
  const { firstIndex, checkpoint } = await readMetadata(stored)
  let next = firstIndex
  const range = layout.logRange(firstIndex, Number.MAX_SAFE_INTEGER)
  for await (const keys of stored.database.keyPages(range))
    for (const key of keys) if (key !== layout.logKey(next++)) throw missingEntry(stored, next - 1)
  return { firstIndex, lastIndex: Math.max(next - 1, checkpoint.upTo) }
}

/** Copies the log from the database into files; the original remains until `deleteDatabaseLog`. */
export async function moveDatabaseLog(
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
export async function deleteDatabaseLog({ database }: OpenStorage): Promise<void> {
  const range = layout.logRange(1, Number.MAX_SAFE_INTEGER)
  for await (const keys of database.keyPages(range))
    for (let at = 0; at < keys.length; at += KEYS_PER_DELETE_BATCH)
      await database.write(
        keys
          .slice(at, at + KEYS_PER_DELETE_BATCH)
          .map((key): WriteOperation => ({ type: 'del', key })),
      )
}
