import { createHash } from 'node:crypto'
import { chunksLength, joinChunks } from '@reeve/kit/string-chunks.ts'
import type {
  BlobChange,
  AppendEntry,
  CheckpointPosition,
  CheckpointRow,
  StoredBlob,
} from '../../state/index.ts'
import { escapeText } from '../text-escape.ts'
import type { QueryRunner, Statement } from './connections.ts'
import { NOTIFY_CHANNELS } from './postgres-notifier.ts'
import { HAS_UNACCEPTED_LOSS } from './postgres-cluster.ts'
import { divergedFault, fencedFault, type Retry } from './postgres-faults.ts'

interface AppendOptions {
  readonly lane: QueryRunner
  readonly retry: Retry
  /** Maximum duration. */
  readonly commitMsMax: number
  readonly term: number
  /** Holder of the term; empty if unknown. */
  readonly holder: string
  /** Identifies this append in the log. */
  readonly nonce: string
  /** Name of the database, for messages. */
  readonly name: string
}

type AppendFence = Pick<AppendOptions, 'term' | 'holder' | 'nonce'>

/**
 * Appends entries atomically and exactly once. One statement advances the head, which only the
 * leader of this term can do from exactly the previous index, and writes the entries and blobs. If
 * the response is lost, the log is read: our nonce at that index means that the append happened;
 * another nonce or a newer term means that it never will; an empty index means that it may be
 * retried. A statement still in flight does no harm then: only one of the two can advance the head.
 * The head also does not advance while a loss of commits is recorded and not accepted: the log has
 * diverged then. A database that fails over to an older state may assign the same term to two
 * servers, so the lease holder is compared as well.
 */
export async function appendEntries(
  entries: readonly AppendEntry[],
  { lane, retry, commitMsMax, name, ...fence }: AppendOptions,
): Promise<void> {
  const { nonce } = fence
  const statement = appendStatement(entries, fence)
  const firstIndex = entries[0]?.index ?? 0
  await retry.runWithin(commitMsMax, 'appending to the log', async (mayHaveRun) => {
    if (mayHaveRun && (await isAppended(lane, firstIndex, nonce))) return
    const [head] = await lane.query<{ moved: string }>(statement)
    if (head?.moved === '1' || (await isAppended(lane, firstIndex, nonce))) return
    throw (await holdsTerm(lane, fence)) ? divergedFault(name, firstIndex - 1) : fencedFault(name)
  })
}

/**
 * True if this server still holds the term: then nobody else writes, and an unexpected head means
 * that the database was replaced.
 */
async function holdsTerm(runner: QueryRunner, { term, holder }: AppendFence): Promise<boolean> {
  const text = 'SELECT term, holder FROM reeve_leader WHERE id = 1'
  const [leader] = await runner.query<{ term: string; holder: string }>({ text })
  return Number(leader?.term) === term && (holder === '' || leader?.holder === holder)
}

async function isAppended(runner: QueryRunner, index: number, nonce: string): Promise<boolean> {
  const text = 'SELECT nonce FROM reeve_log WHERE commit_index = $1'
  const [found] = await runner.query<{ nonce: string }>({ text, values: [index] })
  return found?.nonce === nonce
}

const ADVANCE_HEAD = `WITH head AS (
    UPDATE reeve_head SET last_index = $3 WHERE id = 1 AND term = $1 AND last_index = $2
      AND NOT ${HAS_UNACCEPTED_LOSS} AND ($8 = '' OR EXISTS (
        SELECT 1 FROM reeve_leader WHERE term = $1 AND holder = $8))
    RETURNING term
  ), log AS (
    INSERT INTO reeve_log (commit_index, term, nonce, time_ms, body)
    SELECT entry.commit_index, head.term, $4, entry.time_ms, entry.body
    FROM head, unnest($5::bigint[], $6::double precision[], $7::text[])
      AS entry (commit_index, time_ms, body)
  )`

const ADVANCE_HEAD_WITH_BLOBS = `${ADVANCE_HEAD}, removed AS (
    DELETE FROM reeve_blobs WHERE id = ANY($9::bytea[]) AND EXISTS (SELECT 1 FROM head)
  ), put AS (
    INSERT INTO reeve_blobs (id, key, bytes)
    SELECT blob.id, blob.key, blob.bytes
    FROM head, unnest($10::bytea[], $11::text[], $12::bytea[]) AS blob (id, key, bytes)
    ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes
  )`

/** Followers are notified by the same statement; a fenced append notifies nobody. */
const ADVANCED = `SELECT count(*) AS moved, count(pg_notify('${NOTIFY_CHANNELS.log}', '')) AS told FROM head`

function appendStatement(
  entries: readonly AppendEntry[],
  { term, nonce, holder }: AppendFence,
): Statement {
  const indexes = entries.map(({ index }) => index)
  const values = [
    term,
    (indexes[0] ?? 0) - 1,
    indexes.at(-1),
    nonce,
    encodeBigintArray(indexes),
    encodeDoubleArray(entries.map(({ timeMs }) => timeMs)),
    encodeTextArray(entries.map(({ text }) => escapeText(joinChunks(text)))),
    holder,
  ]
  const blobs = entries.flatMap((entry) => entry.blobs)
  if (blobs.length === 0)
    return { name: 'reeve-append', text: `${ADVANCE_HEAD} ${ADVANCED}`, values }
  const blobValues = blobParameters(blobs)
  return {
    name: 'reeve-append-blobs',
    text: `${ADVANCE_HEAD_WITH_BLOBS} ${ADVANCED}`,
    values: [...values, ...blobValues],
  }
}

/** Only the last change of a blob counts; a statement must not touch a row twice. */
function blobParameters(blobs: readonly BlobChange[]): readonly Buffer[] {
  const lastChanges = [...new Map(blobs.map((blob) => [blob.key, blob.bytes]))]
  const removed: Buffer[] = []
  const put: { id: Buffer; key: string; bytes: Uint8Array }[] = []
  for (const [key, bytes] of lastChanges) {
    if (bytes === undefined) removed.push(blobDigest(key))
    else put.push({ id: blobDigest(key), key: escapeText(key), bytes })
  }
  return [
    encodeByteaArray(removed),
    encodeByteaArray(put.map(({ id }) => id)),
    encodeTextArray(put.map(({ key }) => key)),
    encodeByteaArray(put.map(({ bytes }) => bytes)),
  ]
}

export function blobDigest(key: string): Buffer {
  return createHash('sha256').update(escapeText(key)).digest()
}

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
const FENCED_COUNT = 'SELECT count(*) AS fenced FROM keeper'

/** Rows to write or delete, each once. */
interface CheckpointBatch {
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
      WHERE ${CHECKPOINT_CONDITION} RETURNING '1' AS fenced`,
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

/**
 * Encodes arrays in the binary format of the protocol: nothing needs escaping, so texts of any
 * length and bytes are transferred exactly at the cost of a copy. Only for parameters: results stay
 * text, because the client corrupts bytes in binary results.
 */
export function encodeTextArray(texts: readonly string[]): Buffer {
  const lengths = texts.map((text) => Buffer.byteLength(text))
  return encodeArray(
    TYPE_OIDS.text,
    lengths,
    (array, at, n) => void array.write(texts[n] ?? '', at),
  )
}

function encodeByteaArray(values: readonly Uint8Array[]): Buffer {
  const lengths = values.map((bytes) => bytes.length)
  return encodeArray(TYPE_OIDS.bytes, lengths, (array, at, n) =>
    array.set(values[n] ?? NO_BYTES, at),
  )
}

export function encodeBigintArray(values: readonly number[]): Buffer {
  return encodeArray(TYPE_OIDS.integer, values.map(eightBytes), (array, at, n) => {
    array.writeBigInt64BE(BigInt(values[n] ?? 0), at)
  })
}

function encodeDoubleArray(values: readonly number[]): Buffer {
  return encodeArray(TYPE_OIDS.double, values.map(eightBytes), (array, at, n) => {
    array.writeDoubleBE(values[n] ?? 0, at)
  })
}

/** Type OIDs; equal in every engine with this protocol. */
const TYPE_OIDS = { bytes: 17, integer: 20, text: 25, double: 701 } as const
const NO_BYTES = new Uint8Array()
const eightBytes = (): number => 8

/** Number of dimensions, null flag, type; then length and lower bound of the dimension. */
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

function encodeArray(
  type: number,
  lengths: readonly number[],
  write: (array: Buffer, offset: number, position: number) => void,
): Buffer {
  let size = HEADER_BYTES
  for (const length of lengths) size += LENGTH_BYTES + length
  const array = Buffer.alloc(size)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(type, 8)
  array.writeInt32BE(lengths.length, 12)
  array.writeInt32BE(1, 16)
  let offset = HEADER_BYTES
  for (const [position, length] of lengths.entries()) {
    array.writeInt32BE(length, offset)
    write(array, offset + LENGTH_BYTES, position)
    offset += LENGTH_BYTES + length
  }
  return array
}
