import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { lockTtlMs, lockDelayUntilMs, type VariableLockRow } from '../model/index.ts'
import {
  runGc,
  DEFAULT_GC_THRESHOLDS,
  type GcThresholds,
  type Store,
  remove,
  expiredAuditRecords,
  type AuditLimits,
  namespacedKey,
  put,
  type Change,
} from '../state/index.ts'
import type { Logger } from '@reeve/kit/log.ts'

/** Interval of the collection. */
const GARBAGE_INTERVAL_MS = 5 * 60_000

interface GarbageCollectionLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Omit<Logger, 'debug'>
  readonly ages?: GcThresholds
  /** Yields to the event loop between slices. */
  readonly yieldToEventLoop?: () => Promise<void>
}

/**
 * Deletes terminal jobs, evaluations with their allocations, deployments and nodes after their
 * retention. Tokens are handled by the token expiry loop. No state is kept between runs.
 */
export class GarbageCollectionLoop {
  readonly #options: GarbageCollectionLoopOptions
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: GarbageCollectionLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(GARBAGE_INTERVAL_MS, () => {
      this.start()
      this.#run()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Resolves when no run is active. For tests. */
  async idle(): Promise<void> {
    await this.#running
  }

  /** Skips the run if the previous one is still active. */
  #run(): void {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined
    })
  }

  async #runOnce(): Promise<void> {
    const { store, clock, log, ages, yieldToEventLoop } = this.#options
    try {
      const counts = await runGc(store, {
        by: 'system',
        nowMs: clock.nowMs(),
        ages: ages ?? DEFAULT_GC_THRESHOLDS,
        yieldToEventLoop: yieldToEventLoop ?? (() => setImmediate()),
        isStopped: () => this.#stopped,
      })
      if (Object.values(counts).some((count) => count > 0)) log.info(counts, 'garbage collected')
    } catch (thrown) {
      // Storage fault: the next run continues.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'garbage could not be collected')
    }
  }
}

/**
 * Interval of the collection. Expired tokens are rejected immediately; their rows are deleted
 * within this time.
 */
const TOKEN_INTERVAL_MS = 60_000

interface TokenExpiryLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Omit<Logger, 'debug'>
  /** Corrects stored deadlines if the clock has jumped. */
  readonly checkClock: () => void
}

/** Deletes expired ACL tokens, one-time tokens and join tokens. */
export class TokenExpiryLoop {
  readonly #options: TokenExpiryLoopOptions
  #cancelTimer: () => void = () => undefined

  constructor(options: TokenExpiryLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(TOKEN_INTERVAL_MS, () => {
      this.start()
      this.runOnce()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Runs one collection. Also called by tests. */
  runOnce(): void {
    const { store, clock, log, checkClock } = this.#options
    checkClock()
    const nowMs = clock.nowMs()
    const { acl_tokens, one_time_tokens, node_join_tokens } = store.tables
    const isExpired = (time: string | null): boolean => time !== null && Date.parse(time) <= nowMs
    const tokens = [...acl_tokens.rows()].filter((row) => isExpired(row.ExpirationTime))
    const oneTimeTokens = [...one_time_tokens.rows()].filter((row) => isExpired(row.ExpiresAt))
    const joinTokens = [...node_join_tokens.rows()].filter((row) => isExpired(row.ExpiresAt))
    try {
      if (tokens.length > 0)
        store.commit({
          by: 'system',
          cause: 'ACLTokenDeleted',
          changes: () => tokens.map((row) => remove('acl_tokens', row.AccessorID)),
        })
      if (oneTimeTokens.length + joinTokens.length > 0)
        store.commit({
          by: 'system',
          cause: undefined,
          changes: () => [
            ...oneTimeTokens.map((row) => remove('one_time_tokens', row.AccessorID)),
            ...joinTokens.map((row) => remove('node_join_tokens', row.ID)),
          ],
        })
    } catch (thrown) {
      // Storage fault: the next run deletes them.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'expired tokens could not be removed')
    }
  }
}

/** Interval of the collection; records may exceed their retention by this time. */
const AUDIT_INTERVAL_MS = 10 * 60_000

interface AuditRetentionLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Omit<Logger, 'debug'>
  readonly limits: AuditLimits
}

/** Deletes audit records beyond the configured age and size. */
export class AuditRetentionLoop {
  readonly #options: AuditRetentionLoopOptions
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: AuditRetentionLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(AUDIT_INTERVAL_MS, () => {
      this.start()
      void this.runOnce()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Runs one collection, unless one is already running. Also called by tests. */
  runOnce(): Promise<void> {
    this.#running ??= this.#deleteExpired().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #deleteExpired(): Promise<void> {
    const { store, clock, log, limits } = this.#options
    let removed = 0
    try {
      while (!this.#stopped) {
        const changes = expiredAuditRecords(store, clock.nowMs(), limits)
        if (changes.length === 0) break
        await store.commit({ by: 'system', cause: undefined, changes: () => changes }).durable
        removed += changes.length
        await setImmediate()
      }
      if (removed > 0) log.info({ removed }, 'expired audit records deleted')
    } catch (thrown) {
      // Storage fault: the next run continues.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'old audit records could not be removed')
    }
  }
}

/** Expired locks are treated as free immediately; their rows are updated within this interval. */
const RELEASE_INTERVAL_MS = 1_000

interface VariableLockLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Omit<Logger, 'debug'>
  /** Corrects stored deadlines if the clock has jumped. */
  readonly checkClock: () => void
}

/** Releases variable locks that were not renewed in time. */
export class VariableLockLoop {
  readonly #options: VariableLockLoopOptions
  #cancelTimer: () => void = () => undefined

  constructor(options: VariableLockLoopOptions) {
    this.#options = options
  }

  /** Holders could not renew locks while no server was running, so each gets its full TTL again. */
  start(): void {
    const nowMs = this.#options.clock.nowMs()
    this.#commit((row) => {
      const lock = this.#lockOf(row)
      if (lock === undefined) return []
      return [put('variable_locks', { ...row, UntilMs: nowMs + lockTtlMs(lock) })]
    })
    this.#scheduleNext()
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Releases expired locks once. Also called by tests. */
  releaseExpired(): void {
    this.#options.checkClock()
    const nowMs = this.#options.clock.nowMs()
    this.#commit((row) => (row.UntilMs <= nowMs ? this.#releaseChanges(row, nowMs) : []))
  }

  #scheduleNext(): void {
    this.#cancelTimer = this.#options.clock.after(RELEASE_INTERVAL_MS, () => {
      this.#scheduleNext()
      this.releaseExpired()
    })
  }

  #commit(changesOf: (row: VariableLockRow) => readonly Change[]): void {
    const { store, log } = this.#options
    const changes = [...store.tables.variable_locks.rows()].flatMap(changesOf)
    if (changes.length === 0) return
    try {
      store.commit({ by: 'system', cause: 'VariableUpdated', changes: () => changes })
    } catch (thrown) {
      // Storage fault: the next run releases them.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'expired variable locks could not be released')
    }
  }

  /** Removes the lock from the variable; it cannot be acquired before the lock delay is over. */
  #releaseChanges(row: VariableLockRow, nowMs: number): readonly Change[] {
    const key = namespacedKey(row.Namespace, row.Path)
    const removal = remove('variable_locks', key)
    const variable = this.#options.store.tables.variables.find(key)
    const lock = this.#lockOf(row)
    if (variable === undefined || lock === undefined) return [removal]
    const UntilMs = lockDelayUntilMs(lock, row)
    return [
      put('variables', { ...variable, Lock: null, ModifyTime: nsFromMs(nowMs) }),
      UntilMs > nowMs ? put('variable_locks', { ...row, LockID: '', UntilMs }) : removal,
    ]
  }

  /** The lock of the variable, if it is the lock of the row. */
  #lockOf({ Namespace, Path, LockID }: VariableLockRow) {
    const lock = this.#options.store.tables.variables.find(namespacedKey(Namespace, Path))?.Lock
    return LockID !== '' && lock?.ID === LockID ? lock : undefined
  }
}
