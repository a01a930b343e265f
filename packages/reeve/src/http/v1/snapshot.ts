import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { SNAPSHOT_VERSION, v1Routes, type SnapshotLine } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { ok } from '@reeve/kit/result.ts'
import { copyState, type StateCopy, type Store } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { TEXT_TYPE, type Answer } from '../answer.ts'
import { read, type Endpoint } from './endpoint.ts'
import { management } from './requirements.ts'

/** Lines are sent together up to this length. */
const CHUNK_CHARS = 64 * 1024
/** How often the state is copied anew when blobs go while they are read. */
const COPIES_MAX = 5

/** The whole state for an operator's backup. */
export function snapshotEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.saveSnapshot, management, () =>
      ok({ index: () => 0, watch: [], answer: async () => ok(snapshotAnswer(context)) }),
    ),
  ]
}

/** The state of this moment as the bytes of a snapshot. */
export function snapshotChunks(context: SnapshotSource): AsyncIterable<Buffer> {
  return chunksOf(snapshotLines(context.store, isoFromMs(context.clock.nowMs())))
}

type SnapshotSource = Pick<WorkloadContext, 'store' | 'clock'>

function snapshotAnswer(context: WorkloadContext): Answer {
  const stream = Readable.from(snapshotChunks(context), { objectMode: false })
  return { body: { kind: 'stream', stream, contentType: TEXT_TYPE } }
}

/**
 * Blobs come before the rows: one may go with its last row while it is being read, and then the
 * rows are those of a later moment, whose blobs have all been sent.
 */
async function* snapshotLines(store: Store, Time: string): AsyncGenerator<SnapshotLine> {
  yield { Snapshot: 'reeve', Version: SNAPSHOT_VERSION, Time }
  const sent = new Set<string>()
  let copy = await durableCopy(store)
  let absent = new Set<string>()
  for (let copies = 1; ; copies++) {
    const missing = new Set<string>()
    for (const Blob of copy.blobKeys) {
      if (sent.has(Blob)) continue
      const bytes = await store.readBlob(Blob)
      if (bytes === undefined) missing.add(Blob)
      else {
        sent.add(Blob)
        yield { Blob, Data: Buffer.from(bytes).toString('base64') }
      }
    }
    // What is missing twice was never there.
    if (copies === COPIES_MAX || [...missing].every((key) => absent.has(key))) break
    absent = missing
    copy = await durableCopy(store)
  }
  yield { Index: copy.index, Rows: copy.rows.length }
  for (const { table, key, indexes, body } of copy.rows)
    yield { Row: [table, key, ...indexes], Body: body }
  yield { Blobs: sent.size, Checksum: '' }
}

async function durableCopy(store: Store): Promise<StateCopy> {
  const copy = copyState(store)
  await store.settled()
  if (store.fault !== undefined) throw store.fault
  return copy
}

/** The last line gets the checksum of those before it. */
async function* chunksOf(lines: AsyncIterable<SnapshotLine>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let chunk = ''
  for await (const line of lines) {
    if ('Checksum' in line) {
      hash.update(chunk)
      const Checksum = `sha256:${hash.digest('hex')}`
      yield Buffer.from(`${chunk}${JSON.stringify({ ...line, Checksum })}\n`)
      return
    }
    chunk += `${JSON.stringify(line)}\n`
    if (chunk.length < CHUNK_CHARS) continue
    hash.update(chunk)
    yield Buffer.from(chunk)
    chunk = ''
  }
}
