import { Worker } from 'node:worker_threads'
import type { SnapshotLine } from '@reeve/contract'
import { loadSnapshotReader } from '../../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import {
  Store,
  type EnginePosition,
  type StorageEngine,
  type StoredRow,
} from '../../state/index.ts'
import { createSnapshotRowCheck } from '../restore-snapshot.ts'
import { systemClock } from '../system.ts'

/** The content of a backup, as a server restored from it would load it. */
export interface VerifiedBackup {
  readonly index: number
  readonly rows: number
}

/** Message from the verification thread. */
export type VerifyMessage = VerifiedBackup | { readonly problem: string }

/**
 * Restores a snapshot into the memory of a worker thread, which ends afterwards. Rejects with a
 * Fault if the snapshot cannot be restored.
 */
export async function verifyBackup(file: string): Promise<VerifiedBackup> {
  const worker = new Worker(new URL('./verify-worker.ts', import.meta.url), { workerData: file })
  return await new Promise((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new Fault('backup', `the backup could not be restored into memory: ${why}`))
    worker.once('message', (message: VerifyMessage) => {
      if ('problem' in message) fail(message.problem)
      else resolve(message)
    })
    worker.once('error', (thrown: unknown) =>
      fail(thrown instanceof Error ? thrown.message : String(thrown)),
    )
    worker.once('exit', (code) => fail(`its thread ended with ${code}`))
  })
}

const ROWS_PER_PAGE = 1_000

/** Checks each line of a snapshot, and loads its rows as a starting server does. */
export async function restoreIntoMemory(file: string): Promise<VerifiedBackup> {
  const { fileChunks, inspectSnapshot, snapshotLines } = await loadSnapshotReader()
  const { Index, Rows } = await inspectSnapshot(fileChunks(file), file, createSnapshotRowCheck())
  const engine = new SnapshotStorageEngine(Index, () => snapshotLines(fileChunks(file), file))
  const store = await Store.open({ engine, clock: systemClock, isFollower: true })
  const rows = Object.values(store.tables).reduce((sum, { size }) => sum + size, 0)
  if (rows !== Rows) throw new Fault('backup', `${rows} of ${Rows} rows were restored`)
  return { index: store.index, rows }
}

/** A read-only storage engine whose checkpoint is the snapshot. */
class SnapshotStorageEngine implements StorageEngine {
  readonly initialPosition: EnginePosition
  readonly #lines: () => AsyncIterable<SnapshotLine>

  constructor(index: number, lines: () => AsyncIterable<SnapshotLine>) {
    this.#lines = lines
    const checkpoint = { upTo: index, tableIndexes: {} }
    this.initialPosition = { lastIndex: index, firstIndex: index + 1, checkpoint }
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    let page: StoredRow[] = []
    for await (const line of this.#lines()) {
      if (!('Row' in line)) continue
      const [table, key, created, modified] = line.Row
      // The empty group makes the loader derive groups from the row, which decodes and thereby
      // checks it.
      const firstLine = JSON.stringify([created, modified, ''])
      page.push({ table, key, headerLine: firstLine, body: line.Body })
      if (page.length < ROWS_PER_PAGE) continue
      yield page
      page = []
    }
    yield page
  }

  async *read(): AsyncGenerator<never> {}

  async readBlob(): Promise<undefined> {
    return undefined
  }

  async append(): Promise<void> {
    throw new Fault('storage-closed', 'a snapshot takes no writes')
  }

  async checkpoint(): Promise<void> {
    throw new Fault('storage-closed', 'a snapshot takes no writes')
  }

  async trim(): Promise<void> {}

  async close(): Promise<void> {}
}
