import { readdir } from 'node:fs/promises'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import * as data from './data-directory.ts'
import { checkDatabase } from './leveldb/inspect-database.ts'
import { salvageLog } from './log/salvage-log.ts'

export interface StorageProblem {
  readonly what: string
  /** Whether a server refuses to start because of it. */
  readonly isFatal: boolean
}

/** What is known of a storage that nobody has open. */
export interface CheckedStorage {
  readonly problems: readonly StorageProblem[]
  /** Things worth knowing that are no damage. */
  readonly notes: readonly string[]
  /** The last index of the log. */
  readonly lastIndex: number
  /** The index to which the checkpoint reaches at least. */
  readonly upTo: number
  readonly files: number
}

/**
 * Reads every byte of a storage and compares it with its checksums. Changes nothing. Rejects with a
 * Fault when the directory is no storage, is of another format, or is in use.
 */
export async function checkStorage(directory: string): Promise<CheckedStorage> {
  const paths = data.dataPathsOf(directory)
  const problems: StorageProblem[] = []
  const fatal = (what: string): void => void problems.push({ what, isFatal: true })
  const state = await data.examineDirectory(paths).catch((thrown: unknown) => {
    if (!(thrown instanceof Fault) || thrown.kind !== 'storage-corrupt') throw thrown
    fatal(thrown.message)
    return 'damaged'
  })
  await data.assertUnlocked(paths)
  if (state === 'absent' || state === 'empty')
    throw new Fault('storage-foreign', `${paths.root} holds no data of a server.`)
  const reached = await data.readReached(paths).catch((thrown: unknown) => {
    if (state === 'ready') fatal(errorMessage(thrown))
    return data.NOTHING_REACHED
  })
  for (const what of await checkDatabase(paths.level, reached.wal)) fatal(what)
  const log = await salvageLog(paths.log).catch((thrown: unknown) => {
    fatal(errorMessage(thrown))
    return undefined
  })
  const { upTo } = reached
  for (const { fromIndex, what } of log?.damages ?? [])
    problems.push({ what, isFatal: fromIndex > upTo })
  const lastIndex = log?.lastIndex ?? 0
  if (log !== undefined && lastIndex < reached.lastIndex)
    fatal(`the log ends at ${lastIndex}, but had come to ${reached.lastIndex}`)
  const notes =
    log !== undefined && log.tornBytes > 0
      ? [`${log.tornBytes} bytes behind index ${lastIndex} are of a write that was interrupted`]
      : []
  return { problems, notes, lastIndex, upTo, files: await countFiles(paths) }
}

async function countFiles({ level, log }: data.DataPaths): Promise<number> {
  const folders = await Promise.all([level, log].map((path) => readdir(path).catch(() => [])))
  return folders.flat().length
}
