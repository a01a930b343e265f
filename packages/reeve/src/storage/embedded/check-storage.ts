import { readdir } from 'node:fs/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import * as data from './data-directory.ts'
import { findDatabaseDamage } from './leveldb/inspect-database.ts'
import { salvageLog } from './log/salvage-log.ts'

export interface StorageProblem {
  readonly what: string
  /** True if a server refuses to start because of it. */
  readonly isFatal: boolean
}

/** Result of checking a storage that is not open. */
export interface StorageCheck {
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
