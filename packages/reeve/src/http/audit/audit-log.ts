import type { AuditRecord, Route } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import {
  auditKey,
  outcomeRecord,
  put,
  type AuditEntry,
  type AuditOutcome,
  type Store,
} from '../../state/index.ts'

/** Delay of rejection records: they are written in one commit, so that rejecting stays cheap. */
const FLUSH_DELAY_MS = 100
/** Maximum number of deferred records. Beyond it they are only counted in the log. */
const DEFERRED_MAX = 1_000

export interface AuditLogOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: { error(fields: object, message: string): void }
}

/**
 * Records requests that commit nothing themselves. The record of a request that changes state is
 * added by the store to the commit of that change (`CommitRequest.by`): neither is durable without
 * the other, and it costs no commit of its own. Rejections change nothing, so they are gathered and
 * written together a little later.
 */
export class AuditLog {
  readonly #options: AuditLogOptions
  /** Deferred records without ids; an id ends with the index of the commit. */
  #deferred: { readonly record: AuditRecord; readonly timeMs: number }[] = []
  #dropped = 0
  #cancelFlush: (() => void) | undefined

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  /** Records a request that was rejected, or that acted on a node and committed nothing. */
  recordDeferred(entry: AuditEntry, outcome: AuditOutcome): void {
    if (this.#deferred.length >= DEFERRED_MAX) {
      this.#dropped++
      return
    }
    const timeMs = this.#options.clock.nowMs()
    this.#deferred.push({ record: outcomeRecord(entry, outcome, timeMs), timeMs })
    this.#cancelFlush ??= this.#options.clock.after(FLUSH_DELAY_MS, () => this.flush())
  }

  /**
   * Records an action on a node before it starts, in a commit of its own, and waits until that is
   * durable: an exec session does not begin without its record.
   */
  async recordNow(entry: AuditEntry, outcome: AuditOutcome): Promise<void> {
    const { store, clock } = this.#options
    const record = outcomeRecord(entry, outcome, clock.nowMs())
    store.commit({
      // The record itself is the change.
      by: 'system',
      cause: undefined,
      changes: ({ timeMs, index }) => [
        put('audit_records', { ...record, ID: auditKey(timeMs, index) }),
      ],
    })
    await store.whenDurable()
  }

  /** Writes the deferred records: before a list, and when the server stops. */
  flush(): void {
    const { store, log } = this.#options
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    const deferred = this.#deferred
    if (deferred.length === 0) return
    this.#deferred = []
    if (this.#dropped > 0)
      log.error({ dropped: this.#dropped }, 'too many rejected writes: some have no audit record')
    this.#dropped = 0
    try {
      store.commit({
        by: 'system',
        cause: undefined,
        // The id contains the time of the rejection, so the records sort between earlier and later
        // ones.
        changes: ({ index }) =>
          deferred.map(({ record, timeMs }, position) =>
            put('audit_records', { ...record, ID: auditKey(timeMs, index, position) }),
          ),
      })
    } catch (thrown) {
      // The storage failed: nothing can be written, and the log has the reason.
      if (!(thrown instanceof Fault)) throw thrown
      log.error({ err: errorMessage(thrown), records: deferred.length }, 'audit records were lost')
    }
  }
}

const successStatuses = new WeakMap<Route['answers'], number>()

/** Returns the status of a successful request of this route, by the contract. */
export function successStatus({ answers }: Pick<Route, 'answers'>): number {
  const cached = successStatuses.get(answers)
  if (cached !== undefined) return cached
  const status = Number(Object.keys(answers).find((one) => one.startsWith('2')) ?? 200)
  successStatuses.set(answers, status)
  return status
}
