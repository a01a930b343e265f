import { mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { MigrateMessage } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { readTar } from '../artifact/archives.ts'
import { unpack, UnpackBudget } from '../artifact/unpack.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { removeTree } from '../store/safe-directory.ts'
import { errorCode } from '../store/state-file.ts'
import type { Workspace } from '../store/workspace.ts'
import { withTimeout } from '../timing.ts'
import { migratedPaths } from './pack-data.ts'

interface MigrationsOptions {
  readonly clock: Clock
  readonly workspace: Workspace
  send(message: MigrateMessage): void
  /** Whether the allocation runs or ran on this node. */
  isLocal(allocationId: string): boolean
}

interface AwaitedMigration {
  readonly tasks: readonly string[]
  readonly completed: PromiseWithResolvers<void>
  /** Aborted when the data is no longer needed. */
  readonly abandoned: AbortController
  isReceiving: boolean
}

/** Data that allocations of this node await from other nodes (contract: migrate.ts). */
export class IncomingMigrations {
  readonly #options: MigrationsOptions
  readonly #awaited = new Map<string, AwaitedMigration>()

  constructor(options: MigrationsOptions) {
    this.#options = options
  }

  isLocal(allocationId: string): boolean {
    return this.#options.isLocal(allocationId)
  }

  /** Resolves when the data is in place. Rejects with a Fault if it is not available. */
  async fetch(allocation: string, tasks: readonly string[], signal: AbortSignal): Promise<void> {
    const done = Promise.withResolvers<void>()
    const migration: AwaitedMigration = {
      tasks,
      completed: done,
      abandoned: new AbortController(),
      isReceiving: false,
    }
    const stop = (): void =>
      migration.completed.reject(new Fault('task-data', 'the data is no longer needed'))
    signal.addEventListener('abort', stop, { once: true })
    this.#awaited.set(allocation, migration)
    this.#options.send({ kind: 'migrate', allocation })
    const { clock } = this.#options
    const timeoutMs = AGENT_LIMITS.dataMigrationTimeoutMs
    try {
      await withTimeout(migration.completed.promise, {
        clock,
        timeoutMs,
        operation: 'data from another node',
      })
    } finally {
      signal.removeEventListener('abort', stop)
      this.#awaited.delete(allocation)
      migration.abandoned.abort()
    }
  }

  /** Repeats the requests on a new channel, except those whose data is being received. */
  onConnected(): void {
    for (const [allocation, { isReceiving }] of this.#awaited)
      if (!isReceiving) this.#options.send({ kind: 'migrate', allocation })
  }

  onRefused(allocation: string, reason: string): void {
    const migration = this.#awaited.get(allocation)
    if (migration?.isReceiving === false) migration.completed.reject(new Fault('task-data', reason))
  }

  /** Whether an allocation awaits data whose stream has not started. */
  isAwaited(allocation: string): boolean {
    return this.#awaited.get(allocation)?.isReceiving === false
  }

  /** Receives the data from its stream. */
  async receive(allocation: string, stream: StreamSocket): Promise<void> {
    const migration = this.#awaited.get(allocation)
    if (migration === undefined || migration.isReceiving)
      return stream.close(1008, 'nobody waits for it')
    migration.isReceiving = true
    const { signal } = migration.abandoned
    signal.addEventListener('abort', () => stream.terminate(), { once: true })
    const root = this.#options.workspace.allocationDir(allocation)
    try {
      await receiveData(readStream(stream), { root, tasks: migration.tasks, signal })
      stream.close()
      migration.completed.resolve()
    } catch (thrown) {
      migration.completed.reject(thrown)
      stream.close(1011, 'the data cannot be used')
    }
  }
}

interface ReceiveOptions {
  /** The allocation directory, which no task can write to. */
  readonly root: string
  readonly tasks: readonly string[]
  /** Aborted when the data must no longer be moved into place. */
  readonly signal: AbortSignal
}

/** Cannot collide with a task name, which begins with a letter or digit. */
const STAGING_DIR = '.incoming'

/**
 * Receives the data of an allocation of another node: unpacks it where only the agent writes, and
 * moves it into place once it is complete. Anything else in the stream is discarded.
 */
export async function receiveData(
  source: AsyncIterable<Uint8Array>,
  { root, tasks, signal }: ReceiveOptions,
): Promise<void> {
  const staging = join(root, STAGING_DIR)
  // The previous agent may have been killed while it received data.
  await removeTree(staging)
  await mkdir(staging, { recursive: true, mode: 0o700 })
  try {
    // The stream is not compressed: it unpacks to what was sent.
    const budget = new UnpackBudget(Infinity)
    const preservesOwnership = process.getuid?.() === 0
    await unpack(readTar(source), staging, { budget, preservesOwnership })
    signal.throwIfAborted()
    for (const parts of migratedPaths(tasks)) {
      const target = join(root, ...parts)
      await mkdir(dirname(target), { recursive: true, mode: 0o755 })
      await moveIntoEmptyDirectory(join(staging, ...parts), target)
    }
  } finally {
    await removeTree(staging)
  }
}

/** Moves a directory over an empty one. A target that is not empty was moved before. */
async function moveIntoEmptyDirectory(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (thrown) {
    const code = errorCode(thrown)
    if (code !== 'ENOENT' && code !== 'ENOTEMPTY' && code !== 'EEXIST') throw thrown
  }
}

/** Reads a stream with backpressure. Throws a Fault if it breaks off. */
async function* readStream(stream: StreamSocket): AsyncGenerator<Uint8Array> {
  const received: Uint8Array[] = []
  let closeCode: number | undefined
  let wake: () => void = () => undefined
  stream.onClose((code) => {
    closeCode = code
    wake()
  })
  stream.onMessage((data) => {
    received.push(data)
    stream.pause()
    wake()
  })
  for (;;) {
    const chunk = received.shift()
    if (chunk !== undefined) yield chunk
    else if (closeCode !== undefined) break
    else {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      stream.resume()
      await promise
    }
  }
  if (closeCode !== 1000) throw new Fault('task-data', 'the stream from the other node broke off')
}
