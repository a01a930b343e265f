import type { MigrateMessage } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Workspace } from '../store/workspace.ts'
import { withTimeout } from '../wait.ts'
import { readStream } from './stream-bytes.ts'
import { receiveData } from './take-data.ts'

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
