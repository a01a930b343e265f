import type { MigrateMessage } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { Workspace } from '../store/workspace.ts'
import { withDeadline } from '../wait.ts'
import { streamBytes } from './stream-bytes.ts'
import { takeData } from './take-data.ts'

interface MigrationsOptions {
  readonly clock: Clock
  readonly workspace: Workspace
  say(message: MigrateMessage): void
  /** Whether an allocation is, or was, one of this node. */
  isHere(allocationId: string): boolean
}

interface Wanted {
  readonly tasks: readonly string[]
  readonly done: PromiseWithResolvers<void>
  /** Fires when nobody waits any more. */
  readonly over: AbortController
  isTaken: boolean
}

/** The data that allocations of this node wait for from other nodes (contract: migrate.ts). */
export class Migrations {
  readonly #options: MigrationsOptions
  readonly #wanted = new Map<string, Wanted>()

  constructor(options: MigrationsOptions) {
    this.#options = options
  }

  isHere(allocationId: string): boolean {
    return this.#options.isHere(allocationId)
  }

  /** Resolves when the data is in its place. Rejects with a Fault when it does not come. */
  async fetch(allocation: string, tasks: readonly string[], signal: AbortSignal): Promise<void> {
    const done = Promise.withResolvers<void>()
    const wanted: Wanted = { tasks, done, over: new AbortController(), isTaken: false }
    const stop = (): void => wanted.done.reject(new Fault('task-data', 'nobody needs it any more'))
    signal.addEventListener('abort', stop, { once: true })
    this.#wanted.set(allocation, wanted)
    this.#options.say({ kind: 'migrate', allocation })
    const { clock } = this.#options
    const ms = AGENT_LIMITS.dataMsMax
    try {
      await withDeadline(wanted.done.promise, { clock, ms, what: 'data from another node' })
    } finally {
      signal.removeEventListener('abort', stop)
      this.#wanted.delete(allocation)
      wanted.over.abort()
    }
  }

  /** A new channel: what was not begun has to be asked for again. */
  welcomed(): void {
    for (const [allocation, { isTaken }] of this.#wanted)
      if (!isTaken) this.#options.say({ kind: 'migrate', allocation })
  }

  refused(allocation: string, reason: string): void {
    const wanted = this.#wanted.get(allocation)
    if (wanted?.isTaken === false) wanted.done.reject(new Fault('task-data', reason))
  }

  /** Whether an allocation waits for a stream that does not flow yet. */
  isWanted(allocation: string): boolean {
    return this.#wanted.get(allocation)?.isTaken === false
  }

  /** The stream has come. */
  async take(allocation: string, stream: StreamSocket): Promise<void> {
    const wanted = this.#wanted.get(allocation)
    if (wanted === undefined || wanted.isTaken) return stream.close(1008, 'nobody waits for it')
    wanted.isTaken = true
    const { signal } = wanted.over
    signal.addEventListener('abort', () => stream.terminate(), { once: true })
    const root = this.#options.workspace.allocationDir(allocation)
    try {
      await takeData(streamBytes(stream), { root, tasks: wanted.tasks, signal })
      stream.close()
      wanted.done.resolve()
    } catch (thrown) {
      wanted.done.reject(thrown)
      stream.close(1011, 'the data cannot be used')
    }
  }
}
