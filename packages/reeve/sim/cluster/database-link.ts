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

/** As the real lanes wait. */
const ANSWER_MS_MAX = 12_000
const LEASE_MS_MAX = 1_000
const REFUSED_MS_MAX = 20
/** Longer than a lease: what a leader sent may arrive when another leads. */
const LATE_MS_MAX = 6_000
/** Longer than a take-over, shorter than a writer waits. */
const STRUCK_MS_MAX = 10_000

/** How bad the way between servers and database is just now. */
export interface DatabaseTrouble {
  /** The longest that a statement, or its answer, is on its way. */
  delayMsMax: number
  /** How often a connection breaks before a statement was carried out. */
  lossChance: number
  /** How often it breaks after: what was asked for has happened and nobody says so. */
  answerLossChance: number
  /** How often a connection breaks while a statement is on its way, which arrives all the same. */
  lateChance: number
  /** Nobody answers: it restarts, or its machine is gone. */
  isAway: boolean
  /** What befalls whoever writes next, while its entry is on its way. */
  strike: ((sender: string) => void) | undefined
}

export interface DatabaseLinkOptions {
  readonly world: VirtualClock
  readonly process: SimProcess
  readonly name: string
  readonly database: SharedDatabase
  readonly draws: Draws
  readonly trouble: DatabaseTrouble
  /** This server alone cannot reach it. */
  readonly isCut: () => boolean
}

/**
 * One server's connections to the database: the real engine, lease and retries over lanes on which
 * statements take their time, are lost, or are carried out and not answered.
 */
export class DatabaseLink implements ClusterDatabase {
  readonly name: string
  readonly lease: PostgresLease
  readonly losses: PostgresLosses
  /** Decides nothing, so nothing is done to it. */
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

  /** Something was written: who listens hears of it, if the way is free. */
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

  /** One connection: a statement waits for the one before. */
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

  /** One statement, until its answer, the end of its connection, or the end of our patience. */
  #ask<R>(statement: Statement, answerMs: number): Promise<readonly R[]> {
    const { world, process, draws, trouble, database, name } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<readonly R[]>()
    const fail = (text: string, delayMs = 0): void =>
      void world.after(delayMs, () => process.enter(() => reject(new Error(text))))
    const delayMs = (): number => draws.between(0, trouble.delayMsMax)
    // Some who cannot reach it are told at once, some hear nothing.
    if (!this.#isOpen() && draws.chance(0.5)) {
      fail('connect ECONNREFUSED', draws.between(0, REFUSED_MS_MAX))
      return promise
    }
    process.after(answerMs, () => reject(new Error('Query read timeout')))
    if (trouble.strike !== undefined && isAppend(statement)) {
      // The engine asks for rows of the shape that its own statement gives.
      const settle = (answer: unknown): void => resolve(answer as readonly R[])
      world.after(0, () => this.#deliverLate(statement, settle))
      return promise
    }
    const isLate = draws.chance(trouble.lateChance)
    if (isLate) fail('Connection terminated', delayMs())
    world.after(isLate ? draws.between(0, LATE_MS_MAX) : delayMs(), () => {
      if (!this.#isOpen()) return
      if (draws.chance(trouble.lossChance)) return fail('Connection terminated', delayMs())
      // The engine asks for rows of the shape that its own statement gives.
      const answer = database.run(statement, { name }) as readonly R[]
      if (draws.chance(trouble.answerLossChance)) return fail('Connection terminated', delayMs())
      world.after(delayMs(), () => {
        if (this.#isOpen()) process.enter(() => resolve(answer))
      })
    })
    return promise
  }

  /**
   * The entry of a writer that is struck meanwhile. It arrives in the worst moment: another has
   * just taken the lease and written nothing, so that nothing but its term keeps the entry out.
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
