import { createHash } from 'node:crypto'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type { BlobChange, NewLogEntry } from '../../state/index.ts'
import { escapeText } from '../embedded/text-escape.ts'
import type { Lane, Statement } from './lanes.ts'
import { CHANNELS } from './postgres-bell.ts'
import { HAS_OPEN_LOSS } from './postgres-losses.ts'
import { divergedFault, fencedFault } from './postgres-faults.ts'
import type { Retry } from './retry.ts'
import { bytesArray, doubleArray, integerArray, textArray } from './wire-array.ts'

export interface AppendOptions {
  readonly lane: Lane
  readonly retry: Retry
  /** How long it may take. */
  readonly commitMsMax: number
  readonly term: number
  /** Who was given the term; empty: whoever was. */
  readonly holder: string
  /** Identifies this append in the log. */
  readonly nonce: string
  /** The database's, for messages. */
  readonly name: string
}

type AppendFence = Pick<AppendOptions, 'term' | 'holder' | 'nonce'>

/**
 * Appends entries, all or none, exactly once. One statement moves the head, which only the
 * leader of this term can from exactly the index before, and writes what hangs on it. When the
 * answer is lost the log is read: our nonce at that index says that it happened, another's or a
 * newer term that it never will, and nothing there that it may be asked for again. Even a
 * statement that is still under way then does no harm: whichever of the two moves the head, the
 * other finds it moved. The head does not move either when the database has lost commits, and while
 * nobody has accepted that: the log has diverged then.
 *
 * A database that fails over to an older state may give the same term to two servers, so the
 * holder of the lease is compared as well.
 */
export async function appendEntries(
  entries: readonly NewLogEntry[],
  { lane, retry, commitMsMax, name, ...fence }: AppendOptions,
): Promise<void> {
  const { nonce } = fence
  const statement = appendStatement(entries, fence)
  const first = entries[0]?.index ?? 0
  await retry.runWithin(commitMsMax, 'appending to the log', async (isInDoubt) => {
    if (isInDoubt && (await isAppended(lane, first, nonce))) return
    const [moved] = await lane.query<{ moved: string }>(statement)
    if (moved?.moved === '1' || (await isAppended(lane, first, nonce))) return
    throw (await isOurs(lane, fence)) ? divergedFault(name, first - 1) : fencedFault(name)
  })
}

/** While the term is ours nobody else writes: if the head is not ours, the database is another. */
async function isOurs(lane: Lane, { term, holder }: AppendFence): Promise<boolean> {
  const text = 'SELECT term, holder FROM reeve_leader WHERE id = 1'
  const [leader] = await lane.query<{ term: string; holder: string }>({ text })
  return Number(leader?.term) === term && (holder === '' || leader?.holder === holder)
}

async function isAppended(lane: Lane, index: number, nonce: string): Promise<boolean> {
  const text = 'SELECT nonce FROM reeve_log WHERE commit_index = $1'
  const [found] = await lane.query<{ nonce: string }>({ text, values: [index] })
  return found?.nonce === nonce
}

const MOVE_HEAD = `WITH head AS (
    UPDATE reeve_head SET last_index = $3 WHERE id = 1 AND term = $1 AND last_index = $2
      AND NOT ${HAS_OPEN_LOSS} AND ($8 = '' OR EXISTS (
        SELECT 1 FROM reeve_leader WHERE term = $1 AND holder = $8))
    RETURNING term
  ), log AS (
    INSERT INTO reeve_log (commit_index, term, nonce, time_ms, body)
    SELECT entry.commit_index, head.term, $4, entry.time_ms, entry.body
    FROM head, unnest($5::bigint[], $6::double precision[], $7::text[])
      AS entry (commit_index, time_ms, body)
  )`

const WITH_BLOBS = `${MOVE_HEAD}, removed AS (
    DELETE FROM reeve_blobs WHERE id = ANY($9::bytea[]) AND EXISTS (SELECT 1 FROM head)
  ), put AS (
    INSERT INTO reeve_blobs (id, key, bytes)
    SELECT blob.id, blob.key, blob.bytes
    FROM head, unnest($10::bytea[], $11::text[], $12::bytea[]) AS blob (id, key, bytes)
    ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes
  )`

/** Followers are told by the commit of the same statement; one that is fenced tells nobody. */
const MOVED = `SELECT count(*) AS moved, count(pg_notify('${CHANNELS.log}', '')) AS told FROM head`

function appendStatement(
  entries: readonly NewLogEntry[],
  { term, nonce, holder }: AppendFence,
): Statement {
  const indexes = entries.map(({ index }) => index)
  const values = [
    term,
    (indexes[0] ?? 0) - 1,
    indexes.at(-1),
    nonce,
    integerArray(indexes),
    doubleArray(entries.map(({ timeMs }) => timeMs)),
    textArray(entries.map(({ text }) => escapeText(joinChunks(text)))),
    holder,
  ]
  const blobs = entries.flatMap((entry) => entry.blobs)
  if (blobs.length === 0) return { name: 'reeve-append', text: `${MOVE_HEAD} ${MOVED}`, values }
  const blobValues = blobParameters(blobs)
  return {
    name: 'reeve-append-blobs',
    text: `${WITH_BLOBS} ${MOVED}`,
    values: [...values, ...blobValues],
  }
}

/** The last change to a blob is the one that counts; a statement must not touch a row twice. */
function blobParameters(blobs: readonly BlobChange[]): readonly Buffer[] {
  const last = [...new Map(blobs.map((blob) => [blob.key, blob.bytes]))]
  const removed: Buffer[] = []
  const put: { id: Buffer; key: string; bytes: Uint8Array }[] = []
  for (const [key, bytes] of last) {
    if (bytes === undefined) removed.push(blobId(key))
    else put.push({ id: blobId(key), key: escapeText(key), bytes })
  }
  return [
    bytesArray(removed),
    bytesArray(put.map(({ id }) => id)),
    textArray(put.map(({ key }) => key)),
    bytesArray(put.map(({ bytes }) => bytes)),
  ]
}

export function blobId(key: string): Buffer {
  return createHash('sha256').update(escapeText(key)).digest()
}
