import { mkdir } from 'node:fs/promises'
import { ClassicLevel } from 'classic-level'
import { rowRange } from './layout.ts'
import type { RawRow } from './rows/packed-rows.ts'
import { codeOf } from './storage-faults.ts'

/** Written and synced in one go: so long the disk may be busy with nothing else. */
const TABLE_BYTES = 8 * 1024 * 1024
const BLOCK_BYTES = 16 * 1024
const PAGE_KEYS = 1_000
const PAGE_BYTES = 4 * 1024 * 1024

interface OpenLevelOptions {
  readonly bufferBytes: number
  readonly create: boolean
}

export async function openLevel(folder: string, options: OpenLevelOptions): Promise<ClassicLevel> {
  // Not readable by others, whatever the directory above allows: rows hold hashes of secrets.
  if (options.create) await mkdir(folder, { mode: 0o700 }).catch(ifThere)
  const level = new ClassicLevel(folder, {
    createIfMissing: options.create,
    writeBufferSize: options.bufferBytes,
    maxFileSize: TABLE_BYTES,
    blockSize: BLOCK_BYTES,
    // Rows are read on a thread of its own.
    multithreading: true,
  })
  await level.open()
  return level
}

function ifThere(thrown: unknown): void {
  if (codeOf(thrown) !== 'EEXIST') throw thrown
}

/** What another thread of this process has opened. */
export async function joinLevel(folder: string): Promise<ClassicLevel> {
  const level = new ClassicLevel(folder, { createIfMissing: false, multithreading: true })
  await level.open()
  return level
}

export interface KeyRange {
  readonly gte: string
  readonly lt?: string
  readonly lte?: string
}

/** Keys and values of a range, in pages, as of the moment of the first page. */
export function textPages(
  level: ClassicLevel,
  range: KeyRange,
): AsyncGenerator<[string, string][]> {
  return pagesOf(() => level.iterator({ ...range, highWaterMarkBytes: PAGE_BYTES }))
}

export function keyPages(level: ClassicLevel, range: KeyRange): AsyncGenerator<string[]> {
  return pagesOf(() => level.keys({ ...range, highWaterMarkBytes: PAGE_BYTES }))
}

/** Every row, with its value as bytes. */
export function rawRowPages(level: ClassicLevel): AsyncGenerator<RawRow[]> {
  const options = { ...rowRange, highWaterMarkBytes: PAGE_BYTES, valueEncoding: 'view' } as const
  return pagesOf(() => level.iterator<string, Uint8Array>(options))
}

interface PageSource<T> {
  nextv(size: number): Promise<T[]>
  close(): Promise<void>
}

/** Fetches each page while the one before is worked on: the database has threads of its own. */
async function* pagesOf<T>(open: () => PageSource<T>): AsyncGenerator<T[]> {
  const source = open()
  try {
    let coming = source.nextv(PAGE_KEYS)
    for (;;) {
      const page = await coming
      if (page.length === 0) return
      coming = source.nextv(PAGE_KEYS)
      // Awaited in the next turn; when there is none, its failure concerns nobody.
      coming.catch(() => undefined)
      yield page
    }
  } finally {
    await source.close()
  }
}
