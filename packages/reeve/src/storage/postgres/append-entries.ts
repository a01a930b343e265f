import { createHash } from 'node:crypto'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type { BlobChange, AppendEntry } from '../../state/index.ts'
import { escapeText } from '../embedded/text-escape.ts'
import type { QueryRunner, Statement } from './lanes.ts'
import { NOTIFY_CHANNELS } from './postgres-bell.ts'
import { HAS_UNACCEPTED_LOSS } from './postgres-losses.ts'
import { divergedFault, fencedFault } from './postgres-faults.ts'
import type { Retry } from './retry.ts'
import {
  encodeByteaArray,
  encodeDoubleArray,
  encodeBigintArray,
  encodeTextArray,
} from './wire-array.ts'

export interface AppendOptions {
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
    const [head] = await lane.query<{ head: string }>(statement)
    if (head?.head === '1' || (await isAppended(lane, firstIndex, nonce))) return
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
