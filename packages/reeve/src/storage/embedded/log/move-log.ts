import type { Operation } from '../database.ts'
import * as layout from '../layout.ts'
import { damaged } from '../data-directory.ts'
import { missing, readMarks, type Stored } from '../stored-position.ts'
import { LogFiles, type LogFilesOptions } from './log-files.ts'

const KEYS_PER_WRITE = 2_000

/** A log as it was found in the database. */
export interface OldLog {
  readonly firstIndex: number
  readonly lastIndex: number
}

/**
 * Until format 2 the log was in the database. Checks that nothing of it is missing, and changes
 * nothing.
 */
export async function inspectOldLog(stored: Stored): Promise<OldLog> {
  const { firstIndex, checkpoint } = await readMarks(stored)
  let next = firstIndex
  const range = layout.logRange(firstIndex, Number.MAX_SAFE_INTEGER)
  for await (const keys of stored.database.keyPages(range))
    for (const key of keys) if (key !== layout.logKey(next++)) throw missing(stored, next - 1)
  return { firstIndex, lastIndex: Math.max(next - 1, checkpoint.upTo) }
}

/** Copies the log of the database into files. It stays there until `forgetOldLog`. */
export async function moveOldLog(
  { paths, database }: Stored,
  { firstIndex, lastIndex }: OldLog,
  options: LogFilesOptions,
): Promise<LogFiles> {
  const log = await LogFiles.create(paths.log, Math.min(firstIndex, lastIndex + 1), options)
  try {
    for await (const page of database.pages(layout.logRange(firstIndex, lastIndex)))
      await log.append(page.map(([key, value]) => layout.fromLogValue(key, value)))
    return log
  } catch (thrown) {
    await log.close()
    if (!(thrown instanceof layout.UnreadableValue)) throw thrown
    throw damaged(paths, `a log entry: ${thrown.message}`, thrown)
  }
}

/** Removes what was copied. A start that was interrupted leaves some of it to the next one. */
export async function forgetOldLog({ database }: Stored): Promise<void> {
  const range = layout.logRange(1, Number.MAX_SAFE_INTEGER)
  for await (const keys of database.keyPages(range))
    for (let at = 0; at < keys.length; at += KEYS_PER_WRITE)
      await database.write(
        keys.slice(at, at + KEYS_PER_WRITE).map((key): Operation => ({ type: 'del', key })),
      )
}
