/**
 * What is known of a row without decoding it: create index, modify index, the layout of what
 * follows, then one group per index.
 */
export type RowHeader = readonly [number, number, string, ...(string | null)[]]

/** Create index and modify index, which is all that a commit says beside the row's text. */
export type RowIndexes = readonly [number, number]

/** A row of a checkpoint, as an engine gives it back. */
export interface StoredRow {
  readonly table: string
  readonly key: string
  /** The text up to its first line break, which is all of it where there is none. */
  readonly firstLine: string
  /** What stands behind that line break. */
  readonly rest: string | HeldText | undefined
}

/**
 * A text that its engine holds outside of the heap, for as long as somebody keeps this. Most rows
 * are not read for a long time after a start, and the collector would move all of them twice.
 */
export interface HeldText {
  text(): string
}

/** A row of a checkpoint that is read again. */
export interface RestoredRow {
  readonly header: RowHeader
  readonly body: string | HeldText
}

interface WholeRow {
  readonly table: string
  readonly key: string
  readonly text: string
}

/** For engines whose texts are on the heap already. */
export function toStoredRow({ table, key, text }: WholeRow): StoredRow {
  const end = text.indexOf('\n')
  if (end < 0) return { table, key, firstLine: text, rest: undefined }
  return { table, key, firstLine: text.slice(0, end), rest: text.slice(end + 1) }
}

/** The text of a row as it was written. */
export function storedTextOf({ firstLine, rest }: StoredRow): string {
  return rest === undefined ? firstLine : `${firstLine}\n${textOf(rest)}`
}

export function textOf(text: string | HeldText): string {
  return typeof text === 'string' ? text : text.text()
}
