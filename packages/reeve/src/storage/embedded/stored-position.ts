import type { CheckpointMark, EnginePosition } from '../../state/index.ts'
import { damaged, isFormatRead, type DataPaths, type Reached } from './data-directory.ts'
import type { Database } from './database.ts'
import { logKey, logRange, metaKeys, unseal } from './layout.ts'

interface Stored {
  readonly paths: DataPaths
  readonly database: Database
}

/** Where the storage stands, after checking that nothing between checkpoint and end is missing. */
export async function readPosition(stored: Stored, reached: Reached): Promise<EnginePosition> {
  await readMeta(stored, 'format', isFormatRead)
  const checkpoint = await readMeta(stored, 'checkpoint', isMark)
  const firstIndex = await readMeta(stored, 'first', isIndex)
  if (firstIndex > checkpoint.upTo + 1) throw missing(stored, checkpoint.upTo + 1)
  const lastIndex = await findLastIndex(stored, checkpoint.upTo)
  if (firstIndex <= lastIndex) await assertEntry(stored, firstIndex)
  assertReached(stored, 'log ends', [lastIndex, reached.lastIndex])
  assertReached(stored, 'checkpoint is', [checkpoint.upTo, reached.upTo])
  return { lastIndex, firstIndex, checkpoint }
}

/** Walks the entries that the checkpoint does not contain: each must be there. */
async function findLastIndex(stored: Stored, upTo: number): Promise<number> {
  let last = upTo
  const tail = logRange(upTo + 1, Number.MAX_SAFE_INTEGER)
  for await (const keys of stored.database.keyPages(tail)) {
    for (const key of keys) {
      if (key !== logKey(last + 1)) throw missing(stored, last + 1)
      last++
    }
  }
  return last
}

async function assertEntry(stored: Stored, index: number): Promise<void> {
  const found = await stored.database.getText(logKey(index))
  if (found === undefined) throw missing(stored, index)
}

function assertReached(
  { paths }: Stored,
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

function isMark(value: unknown): value is CheckpointMark {
  if (typeof value !== 'object' || value === null) return false
  if (!('upTo' in value && 'tableIndexes' in value)) return false
  const { upTo, tableIndexes } = value
  if (!isIndex(upTo) || typeof tableIndexes !== 'object' || tableIndexes === null) return false
  return Object.values(tableIndexes).every(isIndex)
}

function missing({ paths }: Stored, index: number): Error {
  return damaged(paths, `log entry ${index} is missing`)
}
