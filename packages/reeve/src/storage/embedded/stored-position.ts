import type { CheckpointMark, EnginePosition } from '../../state/index.ts'
import { damaged, isFormatRead, type DataPaths, type Reached } from './data-directory.ts'
import type { Database } from './database.ts'
import { metaKeys, unseal } from './layout.ts'

export interface Stored {
  readonly paths: DataPaths
  readonly database: Database
}

/** A log as far as its place in the storage is concerned. */
interface FoundLog {
  /** Of its oldest entry. */
  readonly firstIndex: number
  readonly lastIndex: number
}

/** Where the storage stands, after checking that nothing between checkpoint and end is missing. */
export async function readPosition(
  stored: Stored,
  reached: Reached,
  log: FoundLog,
): Promise<EnginePosition> {
  const { checkpoint, firstIndex: kept } = await readMarks(stored)
  const { lastIndex } = log
  // What is missing up to the mark is missing from the backlog only: the rows hold it.
  const isBacklog = kept <= lastIndex && log.firstIndex <= checkpoint.upTo + 1
  const firstIndex = isBacklog ? Math.max(kept, log.firstIndex) : kept
  assertReached(stored.paths, 'log ends', [lastIndex, Math.max(reached.lastIndex, checkpoint.upTo)])
  if (firstIndex > checkpoint.upTo + 1) throw missing(stored, checkpoint.upTo + 1)
  if (firstIndex <= lastIndex && log.firstIndex > firstIndex) throw missing(stored, firstIndex)
  assertReached(stored.paths, 'checkpoint is', [checkpoint.upTo, reached.upTo])
  return { lastIndex, firstIndex, checkpoint }
}

/** What the database says of the log. */
export async function readMarks(stored: Stored) {
  await readMeta(stored, 'format', isFormatRead)
  const checkpoint = await readMeta(stored, 'checkpoint', isMark)
  const firstIndex = await readMeta(stored, 'first', isIndex)
  return { checkpoint, firstIndex }
}

export function assertReached(
  paths: DataPaths,
  what: string,
  [found, reached]: readonly [number, number],
): void {
  if (found < reached) throw damaged(paths, `the ${what} at ${found}, but had come to ${reached}`)
}

async function readMeta<T>(
  { paths, database }: Stored,
  name: keyof typeof metaKeys,
  isValid: (value: unknown) => value is T,
): Promise<T> {
  const key = metaKeys[name]
  const sealed = await database.getText(key)
  if (sealed === undefined) throw damaged(paths, `the record ${name} is missing`)
  try {
    const value: unknown = JSON.parse(unseal(key, sealed))
    if (isValid(value)) return value
  } catch (thrown) {
    throw damaged(paths, `the record ${name} is unreadable`, thrown)
  }
  throw damaged(paths, `the record ${name} is unreadable`)
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

export function isMark(value: unknown): value is CheckpointMark {
  if (typeof value !== 'object' || value === null) return false
  if (!('upTo' in value && 'tableIndexes' in value)) return false
  const { upTo, tableIndexes } = value
  if (!isIndex(upTo) || typeof tableIndexes !== 'object' || tableIndexes === null) return false
  return Object.values(tableIndexes).every(isIndex)
}

export function missing({ paths }: Stored, index: number): Error {
  return damaged(paths, `log entry ${index} is missing`)
}
