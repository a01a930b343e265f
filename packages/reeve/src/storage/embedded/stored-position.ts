import type { CheckpointPosition, EnginePosition } from '../../state/index.ts'
import {
  corruptDirectory,
  isSupportedFormat,
  type DataPaths,
  type HighWaterMark,
} from './data-directory.ts'
import type { RowDatabase } from './row-database.ts'
import { METADATA_KEYS, stripChecksum } from './row-format.ts'

export interface OpenStorage {
  readonly paths: DataPaths
  readonly database: RowDatabase
}

/** Index range of a log. */
interface LogRange {
  /** Index of its oldest entry. */
  readonly firstIndex: number
  readonly lastIndex: number
}

/** Position of the storage; checks that no entry between checkpoint and end is missing. */
export async function readPosition(
  stored: OpenStorage,
  highWaterMark: HighWaterMark,
  log: LogRange,
): Promise<EnginePosition> {
  const { checkpoint, firstIndex: keptFirstIndex } = await readMetadata(stored)
  const { lastIndex } = log
  // Entries up to the checkpoint are only needed by slow readers: the rows contain them.
  const isTrimmedOnly = keptFirstIndex <= lastIndex && log.firstIndex <= checkpoint.upTo + 1
  const firstIndex = isTrimmedOnly ? Math.max(keptFirstIndex, log.firstIndex) : keptFirstIndex
  assertNotBehind(stored.paths, 'log ends', [
    lastIndex,
    Math.max(highWaterMark.lastIndex, checkpoint.upTo),
  ])
  if (firstIndex > checkpoint.upTo + 1) throw missingEntry(stored, checkpoint.upTo + 1)
  if (firstIndex <= lastIndex && log.firstIndex > firstIndex) throw missingEntry(stored, firstIndex)
  assertNotBehind(stored.paths, 'checkpoint is', [checkpoint.upTo, highWaterMark.upTo])
  return { lastIndex, firstIndex, checkpoint }
}

/** Metadata records of the database. */
export async function readMetadata(stored: OpenStorage) {
  await readMetadataValue(stored, 'format', isSupportedFormat)
  const checkpoint = await readMetadataValue(stored, 'checkpoint', isCheckpointPosition)
  const firstIndex = await readMetadataValue(stored, 'first', isSafeIndex)
  return { checkpoint, firstIndex }
}

export function assertNotBehind(
  paths: DataPaths,
  what: string,
  [found, expected]: readonly [number, number],
): void {
  if (found < expected)
    throw corruptDirectory(paths, `the ${what} at ${found}, but had come to ${expected}`)
}

async function readMetadataValue<T>(
  { paths, database }: OpenStorage,
  name: keyof typeof METADATA_KEYS,
  isValid: (value: unknown) => value is T,
): Promise<T> {
  const key = METADATA_KEYS[name]
  const storedText = await database.getString(key)
  if (storedText === undefined) throw corruptDirectory(paths, `the record ${name} is missing`)
  try {
    const value: unknown = JSON.parse(stripChecksum(key, storedText))
    if (isValid(value)) return value
  } catch (thrown) {
    throw corruptDirectory(paths, `the record ${name} is unreadable`, thrown)
  }
  throw corruptDirectory(paths, `the record ${name} is unreadable`)
}

function isSafeIndex(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

export function isCheckpointPosition(value: unknown): value is CheckpointPosition {
  if (typeof value !== 'object' || value === null) return false
  if (!('upTo' in value && 'tableIndexes' in value)) return false
  const { upTo, tableIndexes } = value
  if (!isSafeIndex(upTo) || typeof tableIndexes !== 'object' || tableIndexes === null) return false
  return Object.values(tableIndexes).every(isSafeIndex)
}

export function missingEntry({ paths }: OpenStorage, index: number): Error {
  return corruptDirectory(paths, `log entry ${index} is missing`)
}
