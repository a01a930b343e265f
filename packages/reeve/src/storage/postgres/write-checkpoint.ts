import { createHash } from 'node:crypto'
import { chunksLength, joinChunks } from '@reeve/kit/string-chunks.ts'
import type { CheckpointMark, CheckpointRow, StoredBlob } from '../../state/index.ts'
import { escapeText } from '../embedded/text-escape.ts'
import { blobId } from './append-entries.ts'
import type { Statement } from './lanes.ts'
import { bytesArray, textArray } from './wire-array.ts'

/** A checkpoint is written in pieces of this size: each is quickly done and quickly done again. */
const BYTES_PER_PIECE = 512 * 1024

/**
 * The keeper's fence: each statement moves the step on. One that was given up for lost and arrives
 * late finds a later step or another term, and writes nothing over what is newer. Rows are the
 * leader's state, so they are written only where the log holds its last entry: a database that has
 * lost commits may have the same term, and must not get rows of commits that its log lacks. Nor is
 * a checkpoint finished on a database that has lost a piece of it: no acknowledged step is missing.
 */
const FENCE = `id = 1 AND term = $1 AND step < $2 AND step >= $6
    AND ($5 = '' OR first_index > $3 OR EXISTS (
      SELECT 1 FROM reeve_log AS entry
      WHERE entry.commit_index = $3 AND entry.term = $4 AND entry.nonce = $5))`
const KEEPER = `WITH keeper AS (
    UPDATE reeve_checkpoint SET step = $2 WHERE ${FENCE} RETURNING term
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
    size += row.key.length + chunksLength(row.text ?? '')
    if (size < BYTES_PER_PIECE) continue
    yield { rows: piece }
    piece = new Map()
    size = 0
  }
  if (piece.size > 0) yield { rows: piece }
}

/**
 * The term, the step, the last entry that the leader has appended or applied, and the last step
 * that was acknowledged.
 */
export type Fence = readonly [
  term: number,
  step: number,
  index: number,
  entryTerm: number,
  nonce: string,
  acknowledgedStep: number,
]

export function pieceStatement(piece: CheckpointPiece, fence: Fence): Statement {
  const put: { id: Buffer; table: string; key: string; text: string }[] = []
  const removed: Buffer[] = []
  for (const [name, { table, key, text }] of piece.rows) {
    const id = createHash('sha256').update(name).digest()
    if (text === undefined) removed.push(id)
    else {
      const escaped = escapeText(joinChunks(text))
      put.push({ id, table: escapeText(table), key: escapeText(key), text: escaped })
    }
  }
  return {
    name: 'reeve-checkpoint',
    text: `${KEEPER}, removed AS (
        DELETE FROM reeve_rows WHERE id = ANY($7::bytea[]) AND EXISTS (SELECT 1 FROM keeper)
      ), put AS (
        INSERT INTO reeve_rows (id, table_name, key, body)
        SELECT row.id, row.table_name, row.key, row.body
        FROM keeper, unnest($8::bytea[], $9::text[], $10::text[], $11::text[])
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
    text: `UPDATE reeve_checkpoint SET step = $2, up_to = $7, table_indexes = $8
      WHERE ${FENCE} RETURNING '1' AS kept`,
    values: [...fence, mark.upTo, JSON.stringify(mark.tableIndexes)],
  }
}

export function trimStatement(firstIndex: number, fence: Fence): Statement {
  return {
    text: `WITH keeper AS (
        UPDATE reeve_checkpoint SET step = $2, first_index = $7
        WHERE ${FENCE} RETURNING term
      ), removed AS (
        DELETE FROM reeve_log WHERE commit_index < $7 AND EXISTS (SELECT 1 FROM keeper)
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
        FROM keeper, unnest($7::bytea[], $8::text[], $9::bytea[]) AS blob (id, key, bytes)
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
        UPDATE reeve_checkpoint SET step = $2, up_to = $7 - 1, first_index = $7
        WHERE ${FENCE} RETURNING term
      ), head AS (
        UPDATE reeve_head SET last_index = $7 - 1 FROM keeper WHERE id = 1 AND last_index IN (0, $7 - 1)
      ) ${KEPT}`,
    values: [...fence, firstIndex],
  }
}
