import { mkdir } from 'node:fs/promises'
import { ClassicLevel } from 'classic-level'
import type { OffHeapText, StoredRow } from '../../state/index.ts'
import { unescapeText } from '../text-escape.ts'
import { assertRowValue, CRC_HEX_DIGITS, parseRowKey, ROW_RANGE } from './row-format.ts'
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

/**
 * A page of rows in one block of memory: per row its key, the first line of its text, and the rest.
 * Shared memory, because V8 does not count it: after every 64 MB of other external memory it scans
 * the whole heap, thirty times for a million rows.
 */
export interface PackedRows {
  readonly bytes: Uint8Array<SharedArrayBuffer>
  /** End offsets of key, first line and text of each row. */
  readonly ends: Int32Array
}

const ENDS_PER_ROW = 3
const LINE_BREAK = 0x0a

/** Key and value as returned by the database. */
export type StoredEntry = readonly [key: string, value: Uint8Array]

/** Verifies and packs rows. Throws the errors of `assertRowValue`. */
export function packRows(rows: readonly StoredEntry[]): PackedRows {
  const bytes = Buffer.from(new SharedArrayBuffer(totalBytes(rows)))
  const ends = new Int32Array(rows.length * ENDS_PER_ROW)
  let offset = 0
  let end = 0
  for (const [key, value] of rows) {
    assertRowValue(key, value)
    offset += bytes.write(key, offset, 'utf8')
    ends[end++] = offset
    bytes.set(value.subarray(CRC_HEX_DIGITS), offset)
    const from = offset
    offset += value.length - CRC_HEX_DIGITS
    const lineBreak = value.indexOf(LINE_BREAK, CRC_HEX_DIGITS)
    ends[end++] = lineBreak < 0 ? offset : from + lineBreak - CRC_HEX_DIGITS
    ends[end++] = offset
  }
  return { bytes, ends }
}

function totalBytes(rows: readonly StoredEntry[]): number {
  let size = 0
  for (const [key, value] of rows) size += Buffer.byteLength(key) + value.length
  return size
}

/** Rows of a page. Their texts after the first line stay in the page. */
export function unpackRows({ bytes, ends }: PackedRows): StoredRow[] {
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const rows: StoredRow[] = []
  let offset = 0
  for (let i = 0; i < ends.length; i += ENDS_PER_ROW) {
    const [keyEnd = 0, lineEnd = 0, end = 0] = [ends[i], ends[i + 1], ends[i + 2]]
    const firstLine = unescapeText(page.toString('utf8', keyEnd, lineEnd))
    const rest = lineEnd === end ? undefined : new PageSlice(page, lineEnd + 1, end)
    rows.push({
      ...parseRowKey(page.toString('utf8', offset, keyEnd)),
      headerLine: firstLine,
      body: rest,
    })
    offset = end
  }
  return rows
}

/** A slice of a page; keeps the page in memory until no row references it. */
class PageSlice implements OffHeapText {
  readonly #page: Buffer
  readonly #start: number
  readonly #end: number

  constructor(page: Buffer, from: number, to: number) {
    this.#page = page
    this.#start = from
    this.#end = to
  }

  text(): string {
    return unescapeText(this.#page.toString('utf8', this.#start, this.#end))
  }
}
