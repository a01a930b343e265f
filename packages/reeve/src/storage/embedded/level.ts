import { mkdir } from 'node:fs/promises'
import { ClassicLevel } from 'classic-level'
import { ROW_RANGE } from './layout.ts'
import type { StoredEntry } from './rows/packed-rows.ts'
import { errorCode } from './storage-faults.ts'

/** Table files are written and synced in one go, which blocks the disk for that time. */
const TABLE_FILE_BYTES_MAX = 8 * 1024 * 1024
const BLOCK_BYTES = 16 * 1024
const PAGE_KEYS = 1_000
const PAGE_BYTES = 4 * 1024 * 1024

interface OpenLevelOptions {
  readonly bufferBytes: number
  readonly create: boolean
}

export async function openLevelDb(
  directory: string,
  options: OpenLevelOptions,
): Promise<ClassicLevel> {
  // Private, whatever the permissions of the parent: rows contain hashes of secrets.
  if (options.create) await mkdir(directory, { mode: 0o700 }).catch(ignoreExisting)
  const level = new ClassicLevel(directory, {
    createIfMissing: options.create,
    writeBufferSize: options.bufferBytes,
    maxFileSize: TABLE_FILE_BYTES_MAX,
    blockSize: BLOCK_BYTES,
    // Rows are loaded by a worker thread.
    multithreading: true,
  })
  await level.open()
  return level
}

function ignoreExisting(thrown: unknown): void {
  if (errorCode(thrown) !== 'EEXIST') throw thrown
}

/** Opens a database that another thread of this process has open. */
export async function openSharedLevelDb(directory: string): Promise<ClassicLevel> {
  const level = new ClassicLevel(directory, { createIfMissing: false, multithreading: true })
  await level.open()
  return level
}

export interface KeyRange {
  readonly gte: string
  readonly lt?: string
  readonly lte?: string
}

/** Entries of a key range in pages, as of the first page. */
export function entryPages(
  level: ClassicLevel,
  range: KeyRange,
): AsyncGenerator<[string, string][]> {
  return prefetchedPages(() => level.iterator({ ...range, highWaterMarkBytes: PAGE_BYTES }))
}

export function keyPages(level: ClassicLevel, range: KeyRange): AsyncGenerator<string[]> {
  return prefetchedPages(() => level.keys({ ...range, highWaterMarkBytes: PAGE_BYTES }))
}

/** All rows with their values as bytes. */
export function rowPages(level: ClassicLevel): AsyncGenerator<StoredEntry[]> {
  const options = { ...ROW_RANGE, highWaterMarkBytes: PAGE_BYTES, valueEncoding: 'view' } as const
  return prefetchedPages(() => level.iterator<string, Uint8Array>(options))
}

interface PageSource<T> {
  nextv(size: number): Promise<T[]>
  close(): Promise<void>
}

/**
 * Prefetches the next page while the current one is processed: the database uses its own threads.
 */
async function* prefetchedPages<T>(open: () => PageSource<T>): AsyncGenerator<T[]> {
  const source = open()
  try {
    let nextPage = source.nextv(PAGE_KEYS)
    for (;;) {
      const page = await nextPage
      if (page.length === 0) return
      nextPage = source.nextv(PAGE_KEYS)
      // Awaited in the next iteration; if there is none, its failure is irrelevant.
      nextPage.catch(() => undefined)
      yield page
    }
  } finally {
    await source.close()
  }
}
