import { createHash } from 'node:crypto'
import { charsOf, joinedText } from '../../kit/parted-text.ts'
import type { CheckpointMark, CheckpointRow, StoredBlob } from '../../state/index.ts'
import { escapeText } from '../embedded/text-escape.ts'
import { blobId } from './append-entries.ts'
import type { Statement } from './lanes.ts'
import { bytesArray, textArray } from './wire-array.ts'

/** A checkpoint is written in pieces of this size: each is quickly done and quickly done again. */
const BYTES_PER_PIECE = 512 * 1024

/**
 * The keeper's fence: each statement moves the step on. One that was given up for lost and arrives
 * late finds a later step or another term, and writes nothing over what is newer.
 */
const KEEPER = `WITH keeper AS (
    UPDATE reeve_checkpoint SET step = $2 WHERE id = 1 AND term = $1 AND step < $2
    RETURNING term
  )`
const KEPT = 'SELECT count(*) AS kept FROM keeper'

/** Rows to write and rows to remove, without a row twice. */
export interface CheckpointPiece {
  readonly rows: ReadonlyMap<string, CheckpointRow>
}

export function* piecesOf(rows: Iterable<CheckpointRow>): Generator<CheckpointPiece> {
  let piece = new Map<string, CheckpointRow>()
  let size = 0
  for (const row of rows) {
    piece.set(rowName(row.table, row.key), row)
    size += row.key.length + charsOf(row.text ?? '')
    if (size < BYTES_PER_PIECE) continue
    yield { rows: piece }
    piece = new Map()
    size = 0
  }
  if (piece.size > 0) yield { rows: piece }
}

/** `fence`: the term and the step. */
export type Fence = readonly [term: number, step: number]

export function pieceStatement(piece: CheckpointPiece, fence: Fence): Statement {
  const put: { id: Buffer; table: string; key: string; text: string }[] = []
  const removed: Buffer[] = []
  for (const [name, { table, key, text }] of piece.rows) {
    const id = createHash('sha256').update(name).digest()
    if (text === undefined) removed.push(id)
    else {
      const escaped = escapeText(joinedText(text))
      put.push({ id, table: escapeText(table), key: escapeText(key), text: escaped })
    }
  }
  return {
    name: 'reeve-checkpoint',
    text: `${KEEPER}, removed AS (
        DELETE FROM reeve_rows WHERE id = ANY($3::bytea[]) AND EXISTS (SELECT 1 FROM keeper)
      ), put AS (
        INSERT INTO reeve_rows (id, table_name, key, body)
        SELECT row.id, row.table_name, row.key, row.body
        FROM keeper, unnest($4::bytea[], $5::text[], $6::text[], $7::text[])
          AS row (id, table_name, key, body)
        ON CONFLICT (id) DO UPDATE SET body = excluded.body
      ) ${KEPT}`,
    values: [
      ...fence,
      bytesArray(removed),
      bytesArray(put.map(({ id }) => id)),
      textArray(put.map(({ table }) => table)),
      textArray(put.map(({ key }) => key)),
      textArray(put.map(({ text }) => text)),
    ],
  }
}

/** Escaped texts hold no NUL, so it separates the two without doubt. */
function rowName(table: string, key: string): string {
  return `${escapeText(table)}\u0000${escapeText(key)}`
}

/** JSON writes NUL and unpaired surrogates as escapes, so a text holds it. */
export function markStatement(mark: CheckpointMark, fence: Fence): Statement {
  return {
    text: `UPDATE reeve_checkpoint SET step = $2, up_to = $3, table_indexes = $4
      WHERE id = 1 AND term = $1 AND step < $2 RETURNING '1' AS kept`,
    values: [...fence, mark.upTo, JSON.stringify(mark.tableIndexes)],
  }
}

export function trimStatement(firstIndex: number, fence: Fence): Statement {
  return {
    text: `WITH keeper AS (
        UPDATE reeve_checkpoint SET step = $2, first_index = $3
        WHERE id = 1 AND term = $1 AND step < $2 RETURNING term
      ), removed AS (
        DELETE FROM reeve_log WHERE commit_index < $3 AND EXISTS (SELECT 1 FROM keeper)
      ) ${KEPT}`,
    values: [...fence, firstIndex],
  }
}

export function blobsStatement(blobs: readonly StoredBlob[], fence: Fence): Statement {
  const last = [...new Map(blobs.map((blob) => [blob.key, blob.bytes]))]
  return {
    text: `${KEEPER}, put AS (
        INSERT INTO reeve_blobs (id, key, bytes)
        SELECT blob.id, blob.key, blob.bytes
        FROM keeper, unnest($3::bytea[], $4::text[], $5::bytea[]) AS blob (id, key, bytes)
        ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes
      ) ${KEPT}`,
    values: [
      ...fence,
      bytesArray(last.map(([key]) => blobId(key))),
      textArray(last.map(([key]) => escapeText(key))),
      bytesArray(last.map(([, bytes]) => bytes)),
    ],
  }
}

/** An empty log begins behind entries that nobody has any more. */
export function beginStatement(firstIndex: number, fence: Fence): Statement {
  return {
    text: `WITH keeper AS (
        UPDATE reeve_checkpoint SET step = $2, up_to = $3 - 1, first_index = $3
        WHERE id = 1 AND term = $1 AND step < $2 RETURNING term
      ), head AS (
        UPDATE reeve_head SET last_index = $3 - 1 FROM keeper WHERE id = 1 AND last_index IN (0, $3 - 1)
      ) ${KEPT}`,
    values: [...fence, firstIndex],
  }
}
