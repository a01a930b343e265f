import type { Clock } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { lockTtlMs, restsUntilMs, type VariableLockRow } from '../model/index.ts'
import { namespacedKey, put, remove, type Change, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/** A lock that ran out counts as such at once; that it did is written within this time. */
const FREE_EVERY_MS = 1_000

interface LockLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: ControlLog
  /** Corrects the deadlines first if the clock has jumped. */
  readonly checkClock: () => void
}

/** Frees the locks of variables that were not kept in time. */
export class LockLoop {
  readonly #options: LockLoopOptions
  #cancelTimer: () => void = () => undefined

  constructor(options: LockLoopOptions) {
    this.#options = options
  }

  /** While no server was there nobody could keep a lock: each gets its whole time once more. */
  start(): void {
    const nowMs = this.#options.clock.nowMs()
    this.#commit((row) => {
      const lock = this.#lockOf(row)
      if (lock === undefined) return []
      return [put('variable_locks', { ...row, UntilMs: nowMs + lockTtlMs(lock) })]
    })
    this.#later()
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** One round; also what the tests call. */
  free(): void {
    this.#options.checkClock()
    const nowMs = this.#options.clock.nowMs()
    this.#commit((row) => (row.UntilMs <= nowMs ? this.#freed(row, nowMs) : []))
  }

  #later(): void {
    this.#cancelTimer = this.#options.clock.after(FREE_EVERY_MS, () => {
      this.#later()
      this.free()
    })
  }

  #commit(changesOf: (row: VariableLockRow) => readonly Change[]): void {
    const { store, log } = this.#options
    const changes = [...store.tables.variable_locks.rows()].flatMap(changesOf)
    if (changes.length === 0) return
    try {
      store.commit({ by: 'system', cause: 'VariableUpdated', changes: () => changes })
    } catch (thrown) {
      // The storage has failed: the next start frees them.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'locks that ran out could not be freed')
    }
  }

  /** The variable loses its lock; nobody takes it again before its delay is over. */
  #freed(row: VariableLockRow, nowMs: number): readonly Change[] {
    const key = namespacedKey(row.Namespace, row.Path)
    const gone = remove('variable_locks', key)
    const variable = this.#options.store.tables.variables.find(key)
    const lock = this.#lockOf(row)
    if (variable === undefined || lock === undefined) return [gone]
    const UntilMs = restsUntilMs(lock, row)
    return [
      put('variables', { ...variable, Lock: null, ModifyTime: nsFromMs(nowMs) }),
      UntilMs > nowMs ? put('variable_locks', { ...row, LockID: '', UntilMs }) : gone,
    ]
  }

  /** The lock of the variable, while it is the one of the row. */
  #lockOf({ Namespace, Path, LockID }: VariableLockRow) {
    const lock = this.#options.store.tables.variables.find(namespacedKey(Namespace, Path))?.Lock
    return LockID !== '' && lock?.ID === LockID ? lock : undefined
  }
}
