import { LogHistory, type Listening, type LogBell, type Rung } from '../../src/cluster/index.ts'
import { parseDatabaseUrl } from '../../src/storage/postgres/database-url.ts'
import type { Lane, Lanes, Statement } from '../../src/storage/postgres/lanes.ts'
import { readPosition } from '../../src/storage/postgres/position.ts'
import { PostgresEngine } from '../../src/storage/postgres/postgres-engine.ts'
import { MemoryRoll } from '../../src/storage/index.ts'
import { PostgresLosses } from '../../src/storage/postgres/postgres-losses.ts'
import { PostgresLease } from '../../src/storage/postgres/postgres-lease.ts'
import { Retry } from '../../src/storage/postgres/retry.ts'
import type { ClusterDatabase } from '../../src/main/cluster-member-options.ts'
import type { Draws } from '../draws.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import type { SharedDatabase } from './shared-database.ts'
import type { SimProcess } from './sim-process.ts'

/** Equal to the timeout of the real connections. */
const ANSWER_MS_MAX = 12_000
const LEASE_MS_MAX = 1_000
const REFUSED_MS_MAX = 20
/** Longer than a lease: a statement of a former leader may arrive when another leads. */
const LATE_MS_MAX = 6_000
/** Longer than a change of leader, shorter than the timeout of a writer. */
const STRUCK_MS_MAX = 10_000

/** Current conditions of the connection between servers and database. */
export interface DatabaseTrouble {
  /** Maximum delay of a statement or its response. */
  delayMsMax: number
  /** Probability that a connection breaks before the statement is executed. */
  lossChance: number
  /** Probability that it breaks afterwards: the statement was executed but the response is lost. */
  answerLossChance: number
  /** Probability that a connection breaks while a statement is in transit, which still arrives. */
  lateChance: number
  /** The database does not respond, because it restarts or its machine is down. */
  isAway: boolean
  /** Fault to inject at the next write, while its entry is in transit. */
  strike: ((sender: string) => void) | undefined
}

export interface DatabaseLinkOptions {
  readonly world: VirtualClock
  readonly process: SimProcess
  readonly name: string
  readonly database: SharedDatabase
  readonly draws: Draws
  readonly trouble: DatabaseTrouble
  /** Only this server cannot reach the database. */
  readonly isCut: () => boolean
}

/**
 * The database connections of one server: the real engine, lease and retries, over connections on
 * which statements are delayed, lost, or executed without a response.
 */
export class DatabaseLink implements ClusterDatabase {
  readonly name: string
  readonly lease: PostgresLease
  readonly losses: PostgresLosses
  /** No faults are injected here, because it takes no part in decisions. */
  readonly roll: MemoryRoll
  readonly bell: LogBell
  readonly #options: DatabaseLinkOptions
  readonly #lanes: Lanes
  readonly #listeners = new Set<(rung: Rung) => void>()

  constructor(options: DatabaseLinkOptions) {
    this.#options = options
    this.#lanes = {
      target: parseDatabaseUrl('postgres://reeve@simulation/shared'),
      append: this.#lane(ANSWER_MS_MAX),
      keep: this.#lane(ANSWER_MS_MAX),
      lease: this.#lane(LEASE_MS_MAX),
      read: { query: (statement) => this.#ask(statement, ANSWER_MS_MAX) },
      roll: this.#lane(LEASE_MS_MAX),
      close: async () => undefined,
    }
    this.name = this.#lanes.target.name
    this.lease = new PostgresLease(this.#lanes)
    this.losses = new PostgresLosses(this.#lanes, () => this.#newRetry())
    this.roll = new MemoryRoll(() => options.world.nowMs)
    this.bell = { listen: (heard) => this.#listen(heard) }
  }

  async openEngine(history = new LogHistory()): Promise<PostgresEngine> {
    const retry = this.#newRetry()
    const { position: opened, entry: openedEntry } = await retry.run('opening it', () =>
      readPosition(this.#lanes.read, this.name),
    )
    return new PostgresEngine({ lanes: this.#lanes, retry, opened, openedEntry, history })
  }

  #newRetry(): Retry {
    return new Retry({ name: this.name, timing: this.#retryTiming })
  }

  async claim(): Promise<void> {}

  async close(): Promise<void> {}

  /** Notifies listeners of a write if the connection is up. */
  ring(rung: Rung): void {
    const { world, process, draws, trouble } = this.#options
    if (!this.#isOpen() || draws.chance(trouble.lossChance)) return
    const delayMs = draws.between(0, trouble.delayMsMax)
    world.after(delayMs, () => process.enter(() => this.#hear(rung)))
  }

  #hear(rung: Rung): void {
    for (const heard of this.#listeners) heard(rung)
  }

  #listen(heard: (rung: Rung) => void): Listening {
    this.#listeners.add(heard)
    const isOpen = (): boolean => this.#isOpen()
    return {
      get canHear() {
        return isOpen()
      },
      stop: () => void this.#listeners.delete(heard),
    }
  }

  #isOpen(): boolean {
    return !this.#options.isCut() && !this.#options.trouble.isAway
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
  #lane(answerMs: number): Lane {
    let before: Promise<unknown> = Promise.resolve()
    return {
      query: (statement) => {
        const asked = before.then(() => this.#ask<never>(statement, answerMs))
        before = asked.catch(() => undefined)
        return asked
      },
    }
  }

  /** Executes one statement until its response, the end of its connection, or a timeout. */
  #ask<R>(statement: Statement, answerMs: number): Promise<readonly R[]> {
    const { world, process, draws, trouble, database, name } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<readonly R[]>()
    const fail = (text: string, delayMs = 0): void =>
      void world.after(delayMs, () => process.enter(() => reject(new Error(text))))
    const delayMs = (): number => draws.between(0, trouble.delayMsMax)
    // Some servers notice the lost connection at once; others receive no response.
    if (!this.#isOpen() && draws.chance(0.5)) {
      fail('connect ECONNREFUSED', draws.between(0, REFUSED_MS_MAX))
      return promise
    }
    process.after(answerMs, () => reject(new Error('Query read timeout')))
    if (trouble.strike !== undefined && isAppend(statement)) {
      // Proof: the engine expects rows in the shape of its own statement.
      const settle = (answer: unknown): void => resolve(answer as readonly R[])
      world.after(0, () => this.#deliverLate(statement, settle))
      return promise
    }
    const isLate = draws.chance(trouble.lateChance)
    if (isLate) fail('Connection terminated', delayMs())
    world.after(isLate ? draws.between(0, LATE_MS_MAX) : delayMs(), () => {
      if (!this.#isOpen()) return
      if (draws.chance(trouble.lossChance)) return fail('Connection terminated', delayMs())
      // Proof: the engine expects rows in the shape of its own statement.
      const answer = database.run(statement, { name }) as readonly R[]
      if (draws.chance(trouble.answerLossChance)) return fail('Connection terminated', delayMs())
      world.after(delayMs(), () => {
        if (this.#isOpen()) process.enter(() => resolve(answer))
      })
    })
    return promise
  }

  /**
   * Delivers the entry of an interrupted writer at the worst moment: another server has just
   * acquired the lease and written nothing, so that only its term rejects the entry.
   */
  #deliverLate(statement: Statement, settle: (answer: unknown) => void): void {
    const { world, process, trouble, database, name } = this.#options
    trouble.strike?.(name)
    trouble.strike = undefined
    let isOnItsWay = true
    const deliver = (): void => {
      if (!isOnItsWay || trouble.isAway) return
      isOnItsWay = false
      const answer = database.run(statement, { name })
      world.after(0, () => {
        if (this.#isOpen()) process.enter(() => settle(answer))
      })
    }
    database.onNextTerm(deliver)
    world.after(STRUCK_MS_MAX, deliver)
  }
}

function isAppend({ name }: Statement): boolean {
  return name?.startsWith('reeve-append') === true
}
