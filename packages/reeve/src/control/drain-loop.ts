import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { namespacedKey, put, withJobRows, type Commit, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'
import { decideDrain, type DrainDecision, type DrainView } from './drain/decide-drain.ts'
import { completedRow, markRows } from './drain/drain-rows.ts'

/** Many allocations end at once; draining nodes are looked at this long after the first of them. */
const LOOK_AFTER_MS = 20
/** After a fault of the storage the drain is looked at again: nothing else would wake it. */
const RETRY_AFTER_MS = 1_000
/** The machine's clock may be set: no wait is longer than this, so it is noticed. */
const LOOK_AFTER_MS_MAX = 60_000

export interface DrainLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: ControlLog
  /** Corrects the deadlines first if the clock has jumped. */
  readonly checkClock: () => void
}

/**
 * Moves allocations off draining nodes. It remembers nothing but when to look next: what it decides
 * is in the state, so that a restart or another leader goes on where it was.
 */
export class DrainLoop {
  readonly #options: DrainLoopOptions
  readonly #view: DrainView
  #unsubscribe: () => void = () => undefined
  #cancelTimer: () => void = () => undefined
  /** When the next look is due, on the monotonic clock: the other one may be set meanwhile. */
  #dueMs = Number.POSITIVE_INFINITY

  constructor(options: DrainLoopOptions) {
    this.#options = options
    this.#view = viewOf(options.store)
  }

  start(): void {
    this.#unsubscribe = this.#options.store.log.subscribe((commits) => this.#follow(commits))
    this.#lookIn(0)
  }

  stop(): void {
    this.#unsubscribe()
    this.#cancelTimer()
    this.#dueMs = Number.POSITIVE_INFINITY
  }

  /** Only what may change a decision wakes it, and only while there is a drain. */
  #follow(commits: readonly Commit[]): void {
    if (!this.#isDraining) return
    const concerns = commits.some((commit) =>
      commit.rows.some(({ table }) => table === 'nodes' || table === 'allocations'),
    )
    if (concerns) this.#lookIn(LOOK_AFTER_MS)
  }

  get #isDraining(): boolean {
    return this.#options.store.tables.nodes.countIn('draining', 'yes') > 0
  }

  /** Looks after that time, or before it when an earlier look is due. */
  #lookIn(afterMs: number): void {
    const { clock } = this.#options
    const delayMs = Math.min(Math.max(0, afterMs), LOOK_AFTER_MS_MAX)
    const dueMs = clock.monotonicMs() + delayMs
    if (dueMs >= this.#dueMs) return
    this.#cancelTimer()
    this.#dueMs = dueMs
    this.#cancelTimer = clock.after(delayMs, () => {
      this.#dueMs = Number.POSITIVE_INFINITY
      this.#look()
    })
  }

  #look(): void {
    if (!this.#isDraining) return
    const { clock, log, checkClock } = this.#options
    checkClock()
    const decision = decideDrain(this.#view, clock.nowMs())
    try {
      this.#commit(decision)
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'a drain could not go on')
      return this.#lookIn(RETRY_AFTER_MS)
    }
    if (decision.nextMs !== undefined) this.#lookIn(decision.nextMs - clock.nowMs())
  }

  /** Each commit is told of by its own type of event: allocations first, then nodes. */
  #commit({ marks, complete }: DrainDecision): void {
    const { store, ids, log } = this.#options
    if (marks.length > 0)
      store.commit({
        by: 'system',
        cause: 'AllocationUpdateDesiredStatus',
        changes: (stamp) =>
          withJobRows(store.tables, markRows(store.tables, marks, { stamp, ids })),
      })
    if (complete.length === 0) return
    store.commit({
      by: 'system',
      cause: 'NodeDrain',
      changes: (stamp) => complete.map((one) => put('nodes', completedRow(one, stamp))),
    })
    for (const { node, deadlineReached } of complete)
      log.info({ nodeId: node.ID, name: node.Name, deadlineReached }, 'node drain complete')
  }
}

function viewOf({ tables }: Store): DrainView {
  return {
    drainingNodes: () => tables.nodes.rowsIn('draining', 'yes'),
    allocationsOn: (nodeId) => tables.allocations.rowsIn('node', nodeId),
    allocationsOf: (namespace, jobId) =>
      tables.allocations.rowsIn('job', namespacedKey(namespace, jobId)),
    findJob: (namespace, id) => tables.jobs.find(namespacedKey(namespace, id)),
  }
}
