import { createHash } from 'node:crypto'
import { chunksLength, joinChunks } from '@reeve/kit/string-chunks.ts'
import type { CheckpointPosition, CheckpointRow, StoredBlob } from '../../state/index.ts'
import { escapeText } from '../embedded/text-escape.ts'
import { blobDigest } from './append-entries.ts'
import type { Statement } from './lanes.ts'
import { encodeByteaArray, encodeTextArray } from './wire-array.ts'

/** Batch size of a checkpoint: small enough to be written, and retried, quickly. */
const BATCH_BYTES_MAX = 512 * 1024

/**
 * Fence of checkpoint writes: each statement increments the step. A statement that was abandoned
 * and arrives late finds a later step or another term and writes nothing. Rows reflect the state of
 * the leader, so they are written only if the log contains its last entry: a database that has lost
 * commits may have the same term and must not get rows of commits that its log lacks. A checkpoint
 * is also not completed on a database that has lost a part of it: every acknowledged step must be
 * present.
 */
const CHECKPOINT_CONDITION = `id = 1 AND term = $1 AND step < $2 AND step >= $6
    AND ($5 = '' OR first_index > $3 OR EXISTS (
      SELECT 1 FROM reeve_log AS entry
      WHERE entry.commit_index = $3 AND entry.term = $4 AND entry.nonce = $5))`
const CHECKPOINT_FENCE = `WITH keeper AS (
    UPDATE reeve_checkpoint SET step = $2 WHERE ${CHECKPOINT_CONDITION} RETURNING term
  )`
const FENCED_COUNT = 'SELECT count(*) AS kept FROM keeper'

/** Rows to write or delete, each once. */
export interface CheckpointBatch {
  readonly rows: ReadonlyMap<string, CheckpointRow>
}

export function* checkpointBatches(rows: Iterable<CheckpointRow>): Generator<CheckpointBatch> {
  let batch = new Map<string, CheckpointRow>()
  let size = 0
  for (const row of rows) {
    batch.set(rowIdentity(row.table, row.key), row)
    size += row.key.length + chunksLength(row.text ?? '')
    if (size < BATCH_BYTES_MAX) continue
    yield { rows: batch }
    batch = new Map()
    size = 0
  }
  if (batch.size > 0) yield { rows: batch }
}

/** Term, step, last entry appended or applied by the leader, and last acknowledged step. */
export type CheckpointFence = readonly [
  term: number,
  step: number,
  index: number,
  entryTerm: number,
  nonce: string,
  acknowledgedStep: number,
]

export function upsertRowsStatement(batch: CheckpointBatch, fence: CheckpointFence): Statement {
  const put: { id: Buffer; table: string; key: string; text: string }[] = []
  const deletedIds: Buffer[] = []
  for (const [name, { table, key, text }] of batch.rows) {
    const id = createHash('sha256').update(name).digest()
    if (text === undefined) deletedIds.push(id)
    else {
      const escaped = escapeText(joinChunks(text))
      put.push({ id, table: escapeText(table), key: escapeText(key), text: escaped })
    }
  }
  return {
    name: 'reeve-checkpoint',
    text: `${CHECKPOINT_FENCE}, removed AS (
        DELETE FROM reeve_rows WHERE id = ANY($7::bytea[]) AND EXISTS (SELECT 1 FROM keeper)
      ), put AS (
        INSERT INTO reeve_rows (id, table_name, key, body)
        SELECT row.id, row.table_name, row.key, row.body
        FROM keeper, unnest($8::bytea[], $9::text[], $10::text[], $11::text[])
          AS row (id, table_name, key, body)
        ON CONFLICT (id) DO UPDATE SET body = excluded.body
      ) ${FENCED_COUNT}`,
    values: [
      ...fence,
      encodeByteaArray(deletedIds),
      encodeByteaArray(put.map(({ id }) => id)),
      encodeTextArray(put.map(({ table }) => table)),
      encodeTextArray(put.map(({ key }) => key)),
      encodeTextArray(put.map(({ text }) => text)),
    ],
  }
}

/** Escaped texts contain no NUL, so it separates the two unambiguously. */
function rowIdentity(table: string, key: string): string {
  return `${escapeText(table)}\u0000${escapeText(key)}`
}

/** JSON escapes NUL and unpaired surrogates, so a text column can store it. */
export function advanceCheckpointStatement(
  mark: CheckpointPosition,
  fence: CheckpointFence,
): Statement {
  return {
    text: `UPDATE reeve_checkpoint SET step = $2, up_to = $7, table_indexes = $8
      WHERE ${CHECKPOINT_CONDITION} RETURNING '1' AS kept`,
    values: [...fence, mark.upTo, JSON.stringify(mark.tableIndexes)],
  }
}

export function trimStatement(firstIndex: number, fence: CheckpointFence): Statement {
  return {
    text: `WITH keeper AS (
        UPDATE reeve_checkpoint SET step = $2, first_index = $7
        WHERE ${CHECKPOINT_CONDITION} RETURNING term
      ), removed AS (
        DELETE FROM reeve_log WHERE commit_index < $7 AND EXISTS (SELECT 1 FROM keeper)
      ) ${FENCED_COUNT}`,
    values: [...fence, firstIndex],
  }
}

export function blobsStatement(blobs: readonly StoredBlob[], fence: CheckpointFence): Statement {
  const last = [...new Map(blobs.map((blob) => [blob.key, blob.bytes]))]
  return {
    text: `${CHECKPOINT_FENCE}, put AS (
        INSERT INTO reeve_blobs (id, key, bytes)
        SELECT blob.id, blob.key, blob.bytes
        FROM keeper, unnest($7::bytea[], $8::text[], $9::bytea[]) AS blob (id, key, bytes)
        ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes
      ) ${FENCED_COUNT}`,
    values: [
      ...fence,
      encodeByteaArray(last.map(([key]) => blobDigest(key))),
      encodeTextArray(last.map(([key]) => escapeText(key))),
      encodeByteaArray(last.map(([, bytes]) => bytes)),
    ],
  }
}

/** Starts an empty log after entries that do not exist any more. */
export function startLogStatement(firstIndex: number, fence: CheckpointFence): Statement {
  return {
    text: `WITH keeper AS (
        UPDATE reeve_checkpoint SET step = $2, up_to = $7 - 1, first_index = $7
        WHERE ${CHECKPOINT_CONDITION} RETURNING term
      ), head AS (
        UPDATE reeve_head SET last_index = $7 - 1 FROM keeper WHERE id = 1 AND last_index IN (0, $7 - 1)
      ) ${FENCED_COUNT}`,
    values: [...fence, firstIndex],
  }
}
