import type { EntryId, FollowedEntry } from '../../cluster/index.ts'
import { type EnginePosition, splitStoredRow, type StoredRow } from '../../state/index.ts'
import { unescapeText } from '../text-escape.ts'
import type { QueryRunner, Statement } from './connections.ts'
import { corruptFault } from './postgres-faults.ts'

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

type PositionRow = {
  readonly term: string
  readonly step: string
  readonly last_index: string
  readonly first_index: string
  readonly up_to: string
  readonly table_indexes: string
  readonly entry_index: string
  readonly entry_term: string | null
  readonly entry_nonce: string | null
  readonly losses: string
}

export interface TermPosition {
  /** The leader of this term may write. */
  readonly term: number
  /** Number of the last checkpoint write in this term. */
  readonly step: number
  readonly position: EnginePosition
  /** The requested entry; undefined if the log does not contain it. */
  readonly entry: EntryId | undefined
  /** Changes whenever a loss of commits is recorded or accepted. */
  readonly lossesVersion: string
}

/**
 * Reads the position of log and checkpoint and the entry at `index`, or at the end of the log, in
 * one statement.
 */
export async function readPosition(
  runner: QueryRunner,
  databaseName: string,
  index?: number,
): Promise<TermPosition> {
  const [row] = await runner.query<PositionRow>({
    text: `SELECT head.term, keep.step, head.last_index, keep.first_index, keep.up_to,
        keep.table_indexes, coalesce($1::bigint, head.last_index) AS entry_index,
        entry.term AS entry_term, entry.nonce AS entry_nonce,
        (SELECT count(*) || '/' || count(accepted_at) FROM reeve_losses) AS losses
      FROM reeve_head AS head
        JOIN reeve_checkpoint AS keep ON keep.id = head.id
        LEFT JOIN reeve_log AS entry
          ON entry.commit_index = coalesce($1::bigint, head.last_index)
      WHERE head.id = 1`,
    values: [index ?? null],
  })
  if (row === undefined) throw corruptFault(databaseName, 'its head or its checkpoint is missing')
  const lastIndex = Number(row.last_index)
  const firstIndex = Number(row.first_index)
  const upTo = Number(row.up_to)
  if (firstIndex > upTo + 1 || upTo > lastIndex)
    throw corruptFault(
      databaseName,
      `its log goes from ${firstIndex} to ${lastIndex} and its checkpoint to ${upTo}`,
    )
  const tableIndexes = toTableIndexes(row.table_indexes)
  if (tableIndexes === undefined)
    throw corruptFault(databaseName, 'the mark of its checkpoint is unreadable')
  const position = { lastIndex, firstIndex, checkpoint: { upTo, tableIndexes } }
  const { entry_index: entryIndex, entry_term: entryTerm, entry_nonce: nonce, losses } = row
  const entry =
    entryTerm === null || nonce === null
      ? undefined
      : { index: Number(entryIndex), term: Number(entryTerm), nonce }
  return { term: Number(row.term), step: Number(row.step), position, entry, lossesVersion: losses }
}

function toTableIndexes(text: string): Record<string, number> | undefined {
  const indexes: Record<string, number> = {}
  const parsed = parseJson(text)
  if (typeof parsed !== 'object' || parsed === null) return undefined
  for (const [table, index] of Object.entries(parsed)) {
    if (typeof index !== 'number') return undefined
    indexes[table] = index
  }
  return indexes
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return undefined
  }
}
