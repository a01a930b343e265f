import type { OffHeapText, StoredRow } from '../../../state/index.ts'
import { assertRowValue, CRC_HEX_DIGITS, parseRowKey } from '../layout.ts'
import { unescapeText } from '../text-escape.ts'

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
