/**
 * Fields of a row that are readable without decoding it: create index, modify index, a hash of the
 * index names, then one key per secondary index.
 */
export type RowHeader = readonly [number, number, string, ...(string | null)[]]

/** Create index and modify index, the only fields that a commit stores beside the JSON of a row. */
export type RowIndexes = readonly [number, number]

/** A checkpoint row as returned by an engine. */
export interface StoredRow {
  readonly table: string
  readonly key: string
  /** The text up to its first line break, or all of it if there is none. */
  readonly headerLine: string
  /** The text after that line break. */
  readonly body: string | OffHeapText | undefined
}

/**
 * A text that the engine keeps outside of the heap while this object is referenced. Most rows are
 * not read for a long time after a start, and the garbage collector would move all of them twice.
 */
export interface OffHeapText {
  text(): string
}

/** A decoded checkpoint row. */
export interface LoadedRow {
  readonly header: RowHeader
  readonly body: string | OffHeapText
}

interface StoredRowText {
  readonly table: string
  readonly key: string
  readonly text: string
}

/** For engines whose texts are already on the heap. */
export function splitStoredRow({ table, key, text }: StoredRowText): StoredRow {
  const lineEnd = text.indexOf('\n')
  if (lineEnd < 0) return { table, key, headerLine: text, body: undefined }
  return { table, key, headerLine: text.slice(0, lineEnd), body: text.slice(lineEnd + 1) }
}

/** The encoded text of a row. */
export function joinStoredRow({ headerLine, body }: StoredRow): string {
  return body === undefined ? headerLine : `${headerLine}\n${readText(body)}`
}

export function readText(text: string | OffHeapText): string {
  return typeof text === 'string' ? text : text.text()
}
