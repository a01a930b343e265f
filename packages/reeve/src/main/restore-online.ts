import { setImmediate } from 'node:timers/promises'
import type { SnapshotRestoreResponse } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { CommandError, loadSnapshotReader } from '../cli/index.ts'
import type { SnapshotRestorer } from '../http/index.ts'
import { refusal, type Refusal } from '../model/index.ts'
import type { Author, SnapshotRow } from '../state/index.ts'
import {
  ensureBuiltIns,
  restoreState,
  type ValidSnapshot,
  type WorkloadContext,
} from '../workload/index.ts'
import type { Logger } from './log.ts'
import { createSnapshotRowCheck } from './restore-snapshot.ts'

/** What a restore needs of the server that leads. */
interface RestoringServer {
  readonly context: WorkloadContext
  readonly log: Logger
  readonly version: string
  /** Runs work while the loops that decide on the state are stopped. */
  whilePaused<T>(work: () => Promise<T>): Promise<T>
}

/** Characters validated before the event loop is yielded. */
const CHUNK_CHARS = 256 * 1024
const NAME = 'The body'

/** Returns the function that restores snapshots while the server runs, one at a time. */
export function createSnapshotRestorer(server: RestoringServer): SnapshotRestorer {
  let isRunning = false
  return async (text, author) => {
    if (isRunning)
      return err(refusal('restore-running', 'Another snapshot is being restored. Wait for it.'))
    isRunning = true
    try {
      const snapshot = await readSnapshot(text)
      if (!snapshot.ok) return snapshot
      return await server.whilePaused(() => restore(server, snapshot.value, author))
    } finally {
      isRunning = false
    }
  }
}

async function restore(
  server: RestoringServer,
  snapshot: ValidSnapshot,
  author: Author,
): Promise<Result<SnapshotRestoreResponse, Refusal>> {
  const { context, log, version } = server
  const restored = await restoreState(context, author, snapshot)
  if (!restored.ok) return restored
  await ensureBuiltIns(context, version)
  const { index } = restored.value
  const rows = snapshot.rows.length
  const { savedAt, index: snapshotIndex } = snapshot
  log.warn({ snapshotIndex, savedAt, rows, index }, 'a snapshot was restored')
  // The restored rows are durable in the log; a checkpoint makes the next start fast.
  context.store.checkpoint().catch((thrown: unknown) => {
    log.warn({ error: errorMessage(thrown) }, 'no checkpoint after the restore')
  })
  return ok({ Index: index, SnapshotIndex: snapshotIndex, Rows: rows })
}

/** Validates every line before anything is changed. */
async function readSnapshot(text: string): Promise<Result<ValidSnapshot, Refusal>> {
  const { inspectSnapshot, snapshotLines } = await loadSnapshotReader()
  const rows: SnapshotRow[] = []
  const blobs = new Map<string, Uint8Array>()
  try {
    const content = await inspectSnapshot(toChunks(text), NAME, createSnapshotRowCheck())
    for await (const line of snapshotLines(toChunks(text), NAME)) {
      if ('Blob' in line) blobs.set(line.Blob, Buffer.from(line.Data, 'base64'))
      else if ('Row' in line) {
        const [table, key, createIndex, modifyIndex] = line.Row
        rows.push({ table, key, indexes: [createIndex, modifyIndex], body: line.Body })
      }
    }
    return ok({ savedAt: content.Time, index: content.Index, rows, blobs })
  } catch (thrown) {
    if (!(thrown instanceof CommandError)) throw thrown
    const hint = thrown.hint === undefined ? '' : ` ${thrown.hint}`
    return err(refusal('invalid-input', `${thrown.message}${hint} Nothing was changed.`))
  }
}

async function* toChunks(text: string): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < text.length;) {
    const end = start + CHUNK_CHARS
    // A chunk must not end between the two halves of a character.
    const isHalf = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800
    const next = isHalf ? end + 1 : end
    yield Buffer.from(text.slice(start, next))
    start = next
    await setImmediate()
  }
}
