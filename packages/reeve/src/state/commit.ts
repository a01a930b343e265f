import type { RowJson } from './table/row-json.ts'

/** One durable change: rows and the events they cause. Replaying the log yields the same state. */
export interface Commit {
  readonly index: number
  readonly timeMs: number
  readonly rows: readonly CommittedRow[]
  readonly events: readonly EventRef[]
}

export interface CommittedRow {
  readonly table: string
  readonly key: string
  /** Undefined if the row was deleted. */
  readonly header: RowIndexes | undefined
  /**
   * JSON of the row; for a deleted row, its last value, because events contain the deleted object.
   */
  readonly text: RowJson
  /** Set by the store when it applies the row; not persisted. */
  readonly namespace?: string | undefined
}

/** An event without its payload, which is built from the row it refers to. */
export interface EventRef {
  readonly Topic: string
  readonly Type: string
  readonly Key: string
  readonly Namespace: string
  readonly FilterKeys: readonly string[] | null
  /** Position in the commit's rows. */
  readonly row: number
}

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
