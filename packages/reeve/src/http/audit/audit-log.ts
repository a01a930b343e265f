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

/** Rejections are gathered this long: one commit for many, so that rejecting stays cheap. */
const GATHER_MS = 100
/** Records that wait for it. Beyond it they are counted in the log only. */
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
  /** Without their ids, which end with the commit to come. */
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
    this.#cancelFlush ??= this.#options.clock.after(GATHER_MS, () => this.flush())
  }

  /**
   * Records what is about to be done on a node, in a commit of its own, and waits until that is
   * durable: a session inside a task does not begin without its record.
   */
  async recordNow(entry: AuditEntry, outcome: AuditOutcome): Promise<void> {
    const { store, clock } = this.#options
    const record = outcomeRecord(entry, outcome, clock.nowMs())
    store.commit({
      // The record is the change itself.
      by: 'system',
      cause: undefined,
      changes: ({ timeMs, index }) => [
        put('audit_records', { ...record, ID: auditKey(timeMs, index) }),
      ],
    })
    await store.settled()
  }

  /** Writes what is deferred. Before a list, and when the server stops. */
  flush(): void {
    const { store, log } = this.#options
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    const deferred = this.#deferred
    if (deferred.length === 0) return
    this.#deferred = []
    if (this.#dropped > 0)
      log.error({ dropped: this.#dropped }, 'too many refused writes: some have no audit record')
    this.#dropped = 0
    try {
      store.commit({
        by: 'system',
        cause: undefined,
        // Filed under the time of the rejection: between what was written before and after it.
        changes: ({ index }) =>
          deferred.map(({ record, timeMs }, place) =>
            put('audit_records', { ...record, ID: auditKey(timeMs, index, place) }),
          ),
      })
    } catch (thrown) {
      // The storage has failed: nothing can be written any more, and the log says why.
      if (!(thrown instanceof Fault)) throw thrown
      log.error({ err: errorMessage(thrown), records: deferred.length }, 'audit records were lost')
    }
  }
}

const successes = new WeakMap<Route['answers'], number>()

/** The status that the contract has for a request of this route that succeeds. */
export function successStatus({ answers }: Pick<Route, 'answers'>): number {
  const known = successes.get(answers)
  if (known !== undefined) return known
  const status = Number(Object.keys(answers).find((one) => one.startsWith('2')) ?? 200)
  successes.set(answers, status)
  return status
}
