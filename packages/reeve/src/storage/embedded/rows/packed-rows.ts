import type { HeldText, StoredRow } from '../../../state/index.ts'
import { assertRowValue, CRC_DIGITS, rowNameOf } from '../layout.ts'
import { unescapeText } from '../text-escape.ts'

/**
 * Rows of the database in one piece of memory: for each its key, the first line of its text, and
 * the rest. Memory that threads share, since the collector does not count it: with every 64 MB of
 * any other that is kept it looks through the whole heap, thirty times for a million rows.
 */
export interface PackedRows {
  readonly bytes: Uint8Array<SharedArrayBuffer>
  /** For each row where its key, its first line and its text end. */
  readonly ends: Int32Array
}

const ENDS_PER_ROW = 3
const LINE_BREAK = 0x0a

/** A key and a value as the database gives them. */
export type RawRow = readonly [key: string, value: Uint8Array]

/** Checks the rows and packs them. Throws what `assertRowValue` throws. */
export function packRows(rows: readonly RawRow[]): PackedRows {
  const bytes = Buffer.from(new SharedArrayBuffer(sizeOf(rows)))
  const ends = new Int32Array(rows.length * ENDS_PER_ROW)
  let at = 0
  let end = 0
  for (const [key, value] of rows) {
    assertRowValue(key, value)
    at += bytes.write(key, at, 'utf8')
    ends[end++] = at
    bytes.set(value.subarray(CRC_DIGITS), at)
    const from = at
    at += value.length - CRC_DIGITS
    const line = value.indexOf(LINE_BREAK, CRC_DIGITS)
    ends[end++] = line < 0 ? at : from + line - CRC_DIGITS
    ends[end++] = at
  }
  return { bytes, ends }
}

function sizeOf(rows: readonly RawRow[]): number {
  let size = 0
  for (const [key, value] of rows) size += Buffer.byteLength(key) + value.length
  return size
}

/** The rows of a piece. What stands behind their first lines stays in it. */
export function unpackRows({ bytes, ends }: PackedRows): StoredRow[] {
  const page = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const rows: StoredRow[] = []
  let at = 0
  for (let i = 0; i < ends.length; i += ENDS_PER_ROW) {
    const [keyEnd = 0, lineEnd = 0, end = 0] = [ends[i], ends[i + 1], ends[i + 2]]
    const firstLine = unescapeText(page.toString('utf8', keyEnd, lineEnd))
    const rest = lineEnd === end ? undefined : new PageText(page, lineEnd + 1, end)
    rows.push({ ...rowNameOf(page.toString('utf8', at, keyEnd)), firstLine, rest })
    at = end
  }
  return rows
}

/** Keeps its page, which other rows share, until the last of them is written anew or forgotten. */
class PageText implements HeldText {
  readonly #page: Buffer
  readonly #from: number
  readonly #to: number

  constructor(page: Buffer, from: number, to: number) {
    this.#page = page
    this.#from = from
    this.#to = to
  }

  text(): string {
    return unescapeText(this.#page.toString('utf8', this.#from, this.#to))
  }
}
