import { toStoredRow, type LogEntry, type StoredRow } from '../../state/index.ts'
import { unescapeText } from '../embedded/text-escape.ts'
import type { Statement } from './lanes.ts'

const ROWS_PER_PAGE = 4_000
const BYTES_PER_PAGE = 2 * 1024 * 1024

/**
 * A page holds as many as fit into its bytes, one at least. Each page is a statement of its own, so
 * that a reader holds neither a connection nor a transaction while it works, and a lost connection
 * costs one page.
 */
export function logPage(from: number, to: number): Statement {
  return {
    name: 'reeve-log',
    text: `SELECT commit_index, time_ms, body FROM (
        SELECT commit_index, time_ms, body,
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
  readonly time_ms: number
  readonly body: string
}

export function toLogEntry(row: LogPageRow): LogEntry {
  const { commit_index: index, time_ms: timeMs, body } = row
  return { index: Number(index), timeMs, text: unescapeText(body), blobs: [] }
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
