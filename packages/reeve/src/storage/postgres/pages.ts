import type { EntryId, FollowedEntry } from '../../cluster/index.ts'
import { splitStoredRow, type StoredRow } from '../../state/index.ts'
import { unescapeText } from '../embedded/text-escape.ts'
import type { Statement } from './lanes.ts'

const PAGE_ROWS_MAX = 4_000
const PAGE_BYTES_MAX = 2 * 1024 * 1024
const PAGE_ENTRY_IDS_MAX = 10_000

/**
 * A page contains as many entries as fit into its size, at least one. Each page is its own
 * statement, so that a reader holds neither a connection nor a transaction while it works, and a
 * lost connection costs one page.
 */
export function selectLogPage(from: number, to: number): Statement {
  return {
    name: 'reeve-log',
    text: `SELECT commit_index, term, nonce, time_ms, body,
        CASE WHEN commit_index = $1 THEN (
          SELECT term || '/' || nonce FROM reeve_log WHERE commit_index = $1 - 1
        ) END AS entry_before
      FROM (
        SELECT commit_index, term, nonce, time_ms, body,
          sum(octet_length(body)) OVER (ORDER BY commit_index) - octet_length(body) AS bytes_before
        FROM reeve_log WHERE commit_index >= $1 AND commit_index <= $2
        ORDER BY commit_index LIMIT ${PAGE_ROWS_MAX}
      ) AS page WHERE bytes_before < ${PAGE_BYTES_MAX} ORDER BY commit_index`,
    values: [from, to],
  }
}

/** As returned by the client, with 64-bit integers as text. */
export type LogRow = {
  readonly commit_index: string
  readonly term: string
  readonly nonce: string
  readonly time_ms: number
  readonly body: string
  /** Term and nonce of the previous entry, in the first row of a page; null if there is none. */
  readonly entry_before: string | null
}

/** True if the entry directly precedes a page at the time the page was read. */
export function precedesPage({ term, nonce }: EntryId, first: LogRow | undefined): boolean {
  return first?.entry_before === `${term}/${nonce}`
}

export function toLogEntry(row: LogRow): FollowedEntry {
  const { time_ms: timeMs, body } = row
  return { ...toEntryId(row), timeMs, text: unescapeText(body), blobs: [] }
}

/** IDs of entries without their content. */
export function selectEntryIds(from: number, to: number): Statement {
  return {
    name: 'reeve-entry-ids',
    text: `SELECT commit_index, term, nonce FROM reeve_log
      WHERE commit_index >= $1 AND commit_index <= $2 ORDER BY commit_index LIMIT ${PAGE_ENTRY_IDS_MAX}`,
    values: [from, to],
  }
}

export type EntryIdRow = Pick<LogRow, 'commit_index' | 'term' | 'nonce'>

export function toEntryId({ commit_index: index, term, nonce }: EntryIdRow): EntryId {
  return { index: Number(index), term: Number(term), nonce }
}

/** Rows sorted by digest. */
export function selectRowsPage(after: Buffer): Statement {
  return {
    name: 'reeve-rows',
    text: `SELECT id, table_name, key, body FROM (
        SELECT id, table_name, key, body,
          sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS bytes_before
        FROM reeve_rows WHERE id > $1 ORDER BY id LIMIT ${PAGE_ROWS_MAX}
      ) AS page WHERE bytes_before < ${PAGE_BYTES_MAX} ORDER BY id`,
    values: [after],
  }
}

export type CheckpointPageRow = {
  readonly id: Buffer
  readonly table_name: string
  readonly key: string
  readonly body: string
}

export function toRow({ table_name: table, key, body }: CheckpointPageRow): StoredRow {
  const row = splitStoredRow({ table: unescapeText(table), key: unescapeText(key), text: body })
  const firstLine = unescapeText(row.headerLine)
  if (typeof row.body !== 'string') return { ...row, headerLine: firstLine }
  // Convert via bytes: a substring would keep the whole text in memory.
  return { ...row, headerLine: firstLine, body: unescapeText(Buffer.from(row.body).toString()) }
}

/** Blobs may be large, so a page contains few of them, at least one. */
export function selectBlobsPage(after: Buffer): Statement {
  return {
    name: 'reeve-blobs',
    text: `SELECT id, key, bytes FROM (
        SELECT id, key, bytes,
          sum(octet_length(bytes)) OVER (ORDER BY id) - octet_length(bytes) AS bytes_before
        FROM reeve_blobs WHERE id > $1 ORDER BY id LIMIT ${PAGE_ROWS_MAX}
      ) AS page WHERE bytes_before < ${PAGE_BYTES_MAX} ORDER BY id`,
    values: [after],
  }
}

export type BlobRow = {
  readonly id: Buffer
  readonly key: string
  readonly bytes: Buffer
}
