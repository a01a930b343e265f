import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { SNAPSHOT_VERSION, v1Routes, type SnapshotLine } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { assert } from '@reeve/kit/fault.ts'
import { ok } from '@reeve/kit/result.ts'
import { takeSnapshot, type StateSnapshot, type Store } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { TEXT_PLAIN, type HttpResponse } from '../answer.ts'
import { read, type Endpoint } from './endpoint.ts'
import { management } from './requirements.ts'

/** Lines are combined into chunks of this size. */
const CHUNK_CHARS = 64 * 1024
/** Maximum number of copies of the state, if blobs are deleted while they are read. */
const COPIES_MAX = 5

/** Returns the route that saves a snapshot of the whole state. */
export function snapshotEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.saveSnapshot, management, () =>
      ok({ index: () => 0, watch: [], respond: async () => ok(await snapshotResponse(context)) }),
    ),
  ]
}

/** Returns a snapshot of the current state as bytes. */
export function snapshotChunks(context: SnapshotSource): AsyncIterable<Buffer> {
  return toChunks(snapshotLines(context.store, timeOf(context), { blobs: [] }))
}

function timeOf({ clock }: SnapshotSource): string {
  return isoFromMs(clock.nowMs())
}

type SnapshotSource = Pick<WorkloadContext, 'store' | 'clock'>

/**
 * Sends the digest before the bytes, so that a receiver detects truncation: the snapshot is
 * generated twice, and never stored.
 */
async function snapshotResponse(context: WorkloadContext): Promise<HttpResponse> {
  const { store } = context
  const time = timeOf(context)
  const content: SnapshotContent = { blobs: [] }
  const hash = createHash('sha256')
  for await (const chunk of toChunks(snapshotLines(store, time, content))) hash.update(chunk)
  const headers = { digest: `sha-256=${hash.digest('base64')}` }
  const stream = Readable.from(toChunks(repeatLines(store, time, content)), { objectMode: false })
  return { headers, body: { kind: 'stream', stream, contentType: TEXT_PLAIN } }
}

/** Content of a snapshot, recorded while it is generated. */
interface SnapshotContent {
  readonly blobs: string[]
  copy?: StateSnapshot
}

/**
 * Generates the same lines again. A blob that was deleted meanwhile aborts the response, which the
 * digest reveals.
 */
async function* repeatLines(
  store: Store,
  Time: string,
  { blobs, copy }: SnapshotContent,
): AsyncGenerator<SnapshotLine> {
  yield { Snapshot: 'reeve', Version: SNAPSHOT_VERSION, Time }
  for (const Blob of blobs) {
    const bytes = await store.readBlob(Blob)
    assert(bytes !== undefined, 'a blob was deleted while the snapshot was sent: save it again')
    yield { Blob, Data: Buffer.from(bytes).toString('base64') }
  }
  if (copy !== undefined) yield* rowLines(copy, blobs.length)
}

/**
 * Generates a snapshot. Blobs precede the rows: one may be deleted with its last row while it is
 * being read, and then the rows are copied again, until all of their blobs have been sent.
 */
async function* snapshotLines(
  store: Store,
  Time: string,
  content: SnapshotContent,
): AsyncGenerator<SnapshotLine> {
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
        content.blobs.push(Blob)
        yield { Blob, Data: Buffer.from(bytes).toString('base64') }
      }
    }
    // Blobs that are missing from two copies in a row are lost, not just deleted.
    if (copies === COPIES_MAX || [...missing].every((key) => absent.has(key))) break
    absent = missing
    copy = await durableCopy(store)
  }
  content.copy = copy
  yield* rowLines(copy, sent.size)
}

function* rowLines(copy: StateSnapshot, blobs: number): Generator<SnapshotLine> {
  yield { Index: copy.index, Rows: copy.rows.length }
  for (const { table, key, indexes, body } of copy.rows)
    yield { Row: [table, key, ...indexes], Body: body }
  yield { Blobs: blobs, Checksum: '' }
}

async function durableCopy(store: Store): Promise<StateSnapshot> {
  const copy = takeSnapshot(store)
  await store.whenDurable()
  if (store.fault !== undefined) throw store.fault
  return copy
}

/** Combines lines into chunks. The last line gets the checksum of the preceding ones. */
async function* toChunks(lines: AsyncIterable<SnapshotLine>): AsyncGenerator<Buffer> {
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
