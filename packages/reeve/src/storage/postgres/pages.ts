import type { EntryId, FollowedEntry } from '../../cluster/index.ts'
import { toStoredRow, type StoredRow } from '../../state/index.ts'
import { unescapeText } from '../embedded/text-escape.ts'
import type { Statement } from './lanes.ts'

const ROWS_PER_PAGE = 4_000
const BYTES_PER_PAGE = 2 * 1024 * 1024
const ENTRY_IDS_PER_PAGE = 10_000

/**
 * A page holds as many as fit into its bytes, one at least. Each page is a statement of its own, so
 * that a reader holds neither a connection nor a transaction while it works, and a lost connection
 * costs one page.
 */
export function logPage(from: number, to: number): Statement {
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
        ORDER BY commit_index LIMIT ${ROWS_PER_PAGE}
      ) AS page WHERE bytes_before < ${BYTES_PER_PAGE} ORDER BY commit_index`,
    values: [from, to],
  }
}

/** As the client gives it: integers of 64 bits as text. */
export type LogPageRow = {
  readonly commit_index: string
  readonly term: string
  readonly nonce: string
  readonly time_ms: number
  readonly body: string
  /** Term and nonce of the entry before the page, in its first row; null when there is none. */
  readonly entry_before: string | null
}

/** Whether an entry is the one before a page, as of the moment in which the page was read. */
export function isBeforePage({ term, nonce }: EntryId, first: LogPageRow | undefined): boolean {
  return first?.entry_before === `${term}/${nonce}`
}

export function toLogEntry(row: LogPageRow): FollowedEntry {
  const { time_ms: timeMs, body } = row
  return { ...toEntryId(row), timeMs, text: unescapeText(body), blobs: [] }
}

/** Which entries there are, without what they hold. */
export function entryIdsPage(from: number, to: number): Statement {
  return {
    name: 'reeve-entry-ids',
    text: `SELECT commit_index, term, nonce FROM reeve_log
      WHERE commit_index >= $1 AND commit_index <= $2 ORDER BY commit_index LIMIT ${ENTRY_IDS_PER_PAGE}`,
    values: [from, to],
  }
}

export type EntryIdRow = Pick<LogPageRow, 'commit_index' | 'term' | 'nonce'>

export function toEntryId({ commit_index: index, term, nonce }: EntryIdRow): EntryId {
  return { index: Number(index), term: Number(term), nonce }
}

/** Rows in the order of their digests. */
export function rowsPage(after: Buffer): Statement {
  return {
    name: 'reeve-rows',
    text: `SELECT id, table_name, key, body FROM (
        SELECT id, table_name, key, body,
          sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS bytes_before
        FROM reeve_rows WHERE id > $1 ORDER BY id LIMIT ${ROWS_PER_PAGE}
      ) AS page WHERE bytes_before < ${BYTES_PER_PAGE} ORDER BY id`,
    values: [after],
  }
}

export type RowsPageRow = {
  readonly id: Buffer
  readonly table_name: string
  readonly key: string
  readonly body: string
}

export function fromRowsPage({ table_name: table, key, body }: RowsPageRow): StoredRow {
  const row = toStoredRow({ table: unescapeText(table), key: unescapeText(key), text: body })
  const firstLine = unescapeText(row.firstLine)
  if (typeof row.rest !== 'string') return { ...row, firstLine }
  // By way of bytes: a part that is cut off a text keeps the whole of it in memory.
  return { ...row, firstLine, rest: unescapeText(Buffer.from(row.rest).toString()) }
}

/** A blob may be large, so a page holds one at least and few at most. */
export function blobsPage(after: Buffer): Statement {
  return {
    name: 'reeve-blobs',
    text: `SELECT id, key, bytes FROM (
        SELECT id, key, bytes,
          sum(octet_length(bytes)) OVER (ORDER BY id) - octet_length(bytes) AS bytes_before
        FROM reeve_blobs WHERE id > $1 ORDER BY id LIMIT ${ROWS_PER_PAGE}
      ) AS page WHERE bytes_before < ${BYTES_PER_PAGE} ORDER BY id`,
    values: [after],
  }
}

export type BlobPageRow = {
  readonly id: Buffer
  readonly key: string
  readonly bytes: Buffer
}
