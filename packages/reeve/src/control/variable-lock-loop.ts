import type { Clock } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { lockTtlMs, lockDelayUntilMs, type VariableLockRow } from '../model/index.ts'
import { namespacedKey, put, remove, type Change, type Store } from '../state/index.ts'
import type { Logger } from '@reeve/kit/log.ts'

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
