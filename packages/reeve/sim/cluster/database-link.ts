import {
  LogHistory,
  type NotifierSubscription,
  type ChangeNotifier,
  type StorageChange,
} from '../../src/cluster/index.ts'
import { parseDatabaseUrl } from '../../src/storage/postgres/database-url.ts'
import type {
  QueryRunner,
  ConnectionPools,
  Statement,
} from '../../src/storage/postgres/connections.ts'
import { readPosition } from '../../src/storage/postgres/page-queries.ts'
import { PostgresEngine } from '../../src/storage/postgres/postgres-engine.ts'
import { MemoryServerRegistry } from '../../src/storage/index.ts'
import { PostgresLease, PostgresLosses } from '../../src/storage/postgres/postgres-cluster.ts'
import { Retry } from '../../src/storage/postgres/postgres-faults.ts'
import type { SharedStorage } from '../../src/main/cluster-member-options.ts'
import type { RandomStream } from '../random-stream.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { SharedDatabase } from './shared-database.ts'
import type { SimProcess } from './sim-process.ts'

/** Equal to the timeout of the real connections. */
const RESPONSE_TIMEOUT_MS = 12_000
const LEASE_TIMEOUT_MS = 1_000
const MAX_REFUSAL_DELAY_MS = 20
/** Longer than a lease: a statement of a former leader may arrive when another leads. */
const MAX_LATE_MS = 6_000
/** Longer than a change of leader, shorter than the timeout of a writer. */
const MAX_INTERRUPTED_MS = 10_000

/** Current conditions of the connection between servers and database. */
export interface DatabaseConditions {
  /** Maximum delay of a statement or its response. */
  delayMsMax: number
  /** Probability that a connection breaks before the statement is executed. */
  lossChance: number
  /** Probability that it breaks afterwards: the statement was executed but the response is lost. */
  responseLossChance: number
  /** Probability that a connection breaks while a statement is in transit, which still arrives. */
  lateChance: number
  /** The database does not respond, because it restarts or its machine is down. */
  isDown: boolean
  /** Fault to inject at the next write, while its entry is in transit. */
  interruptWrite: ((sender: string) => void) | undefined
}

export interface DatabaseLinkOptions {
  readonly virtualClock: VirtualClock
  readonly process: SimProcess
  readonly name: string
  readonly database: SharedDatabase
  readonly random: RandomStream
  readonly conditions: DatabaseConditions
  /** Only this server cannot reach the database. */
  readonly isPartitioned: () => boolean
}

/**
 * The database connections of one server: the real engine, lease and retries, over connections on
 * which statements are delayed, lost, or executed without a response.
 */
export class DatabaseLink implements SharedStorage {
  readonly name: string
  readonly lease: PostgresLease
  readonly losses: PostgresLosses
  /** No faults are injected here, because it takes no part in decisions. */
  readonly servers: MemoryServerRegistry
  readonly notifier: ChangeNotifier
  readonly #options: DatabaseLinkOptions
  readonly #connections: ConnectionPools
  readonly #listeners = new Set<(change: StorageChange) => void>()

  constructor(options: DatabaseLinkOptions) {
    this.#options = options
    this.#connections = {
      target: parseDatabaseUrl('postgres://reeve@simulation/shared'),
      append: this.#newConnection(RESPONSE_TIMEOUT_MS),
      maintenance: this.#newConnection(RESPONSE_TIMEOUT_MS),
      lease: this.#newConnection(LEASE_TIMEOUT_MS),
      read: { query: (statement) => this.#execute(statement, RESPONSE_TIMEOUT_MS) },
      registry: this.#newConnection(LEASE_TIMEOUT_MS),
      close: async () => undefined,
    }
    this.name = this.#connections.target.name
    this.lease = new PostgresLease(this.#connections)
    this.losses = new PostgresLosses(this.#connections, () => this.#newRetry())
    this.servers = new MemoryServerRegistry(() => options.virtualClock.nowMs)
    this.notifier = { subscribe: (listener) => this.#addListener(listener) }
  }

  async openEngine(history = new LogHistory()): Promise<PostgresEngine> {
    const retry = this.#newRetry()
    const { position: opened, entry: openedEntry } = await retry.run('opening it', () =>
      readPosition(this.#connections.read, this.name),
    )
    return new PostgresEngine({ lanes: this.#connections, retry, opened, openedEntry, history })
  }

  #newRetry(): Retry {
    return new Retry({ name: this.name, timing: this.#retryTiming })
  }

  async assertSameCluster(): Promise<void> {}

  async close(): Promise<void> {}

  /** Notifies listeners of a write if the connection is up. */
  notify(change: StorageChange): void {
    const { virtualClock, process, random, conditions } = this.#options
    if (!this.#isReachable() || random.chance(conditions.lossChance)) return
    const delayMs = random.between(0, conditions.delayMsMax)
    virtualClock.after(delayMs, () => process.deliver(() => this.#notifyListeners(change)))
  }

  #notifyListeners(change: StorageChange): void {
    for (const listener of this.#listeners) listener(change)
  }

  #addListener(listener: (change: StorageChange) => void): NotifierSubscription {
    this.#listeners.add(listener)
    const isOpen = (): boolean => this.#isReachable()
    return {
      get isConnected() {
        return isOpen()
      },
      stop: () => void this.#listeners.delete(listener),
    }
  }

  #isReachable(): boolean {
    return !this.#options.isPartitioned() && !this.#options.conditions.isDown
  }

  get #retryTiming() {
    const { process } = this.#options
    return {
      nowMs: () => process.monotonicMs(),
      wait: (ms: number, signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          process.after(ms, resolve)
          if (signal.aborted) resolve()
          else signal.addEventListener('abort', () => resolve(), { once: true })
        }),
    }
  }

  /** One connection, which executes statements in order. */
  #newConnection(answerMs: number): QueryRunner {
    let previous: Promise<unknown> = Promise.resolve()
    return {
      query: (statement) => {
        const executed = previous.then(() => this.#execute<never>(statement, answerMs))
        previous = executed.catch(() => undefined)
        return executed
      },
    }
  }

  /** Executes one statement until its response, the end of its connection, or a timeout. */
  #execute<R>(statement: Statement, answerMs: number): Promise<readonly R[]> {
    const { virtualClock, process, random, conditions, database, name } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<readonly R[]>()
    const fail = (text: string, delayMs = 0): void =>
      void virtualClock.after(delayMs, () => process.deliver(() => reject(new Error(text))))
    const delayMs = (): number => random.between(0, conditions.delayMsMax)
    // Some servers notice the lost connection at once; others receive no response.
    if (!this.#isReachable() && random.chance(0.5)) {
      fail('connect ECONNREFUSED', random.between(0, MAX_REFUSAL_DELAY_MS))
      return promise
    }
    process.after(answerMs, () => reject(new Error('Query read timeout')))
    if (conditions.interruptWrite !== undefined && isAppend(statement)) {
      // Proof: the engine expects rows in the shape of its own statement.
      const respond = (rows: unknown): void => resolve(rows as readonly R[])
      virtualClock.after(0, () => this.#interruptWrite(statement, respond))
      return promise
    }
    const isLate = random.chance(conditions.lateChance)
    if (isLate) fail('Connection terminated', delayMs())
    virtualClock.after(isLate ? random.between(0, MAX_LATE_MS) : delayMs(), () => {
      if (!this.#isReachable()) return
      if (random.chance(conditions.lossChance)) return fail('Connection terminated', delayMs())
      // Proof: the engine expects rows in the shape of its own statement.
      const rows = database.run(statement, { name }) as readonly R[]
      if (random.chance(conditions.responseLossChance))
        return fail('Connection terminated', delayMs())
      virtualClock.after(delayMs(), () => {
        if (this.#isReachable()) process.deliver(() => resolve(rows))
      })
    })
    return promise
  }

  /**
   * Delivers the entry of an interrupted writer at the worst moment: another server has just
   * acquired the lease and written nothing, so that only its term rejects the entry.
   */
  #interruptWrite(statement: Statement, respond: (rows: unknown) => void): void {
    const { virtualClock, process, conditions, database, name } = this.#options
    conditions.interruptWrite?.(name)
    conditions.interruptWrite = undefined
    let isInTransit = true
    const deliver = (): void => {
      if (!isInTransit || conditions.isDown) return
      isInTransit = false
      const rows = database.run(statement, { name })
      virtualClock.after(0, () => {
        if (this.#isReachable()) process.deliver(() => respond(rows))
      })
    }
    database.onNextTerm(deliver)
    virtualClock.after(MAX_INTERRUPTED_MS, deliver)
  }
}

function isAppend({ name }: Statement): boolean {
  return name?.startsWith('reeve-append') === true
}
