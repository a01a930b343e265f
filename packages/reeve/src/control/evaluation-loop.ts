import { setImmediate } from 'node:timers/promises'
import type { Evaluation } from '@reeve/contract'
import type { Clock, IdSource, Random } from '../kit/clock.ts'
import { nsFromMs } from '../kit/duration.ts'
import { Fault, messageOf } from '../kit/fault.ts'
import { isClientTerminal } from '../model/index.ts'
import { schedule } from '../scheduler/index.ts'
import { put, withJobRows, type Commit, type Store } from '../state/index.ts'
import { Broker } from './broker.ts'
import { StateView } from './cluster-view.ts'
import type { ControlLog } from './control-log.ts'
import { planRows } from './plan-rows.ts'

/**
 * Many things free up at once; what is blocked is looked at again this long after the first of
 * them.
 */
const UNBLOCK_AFTER_MS = 20

export interface EvaluationLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: Random
  readonly log: ControlLog
  /** Gives others their turn between two evaluations. */
  readonly nextTurn?: () => Promise<void>
}

/**
 * Takes evaluations in order of priority, lets the scheduler decide, and commits its plan. It works
 * on live state, one evaluation at a time, so a plan never conflicts with another. It remembers
 * nothing that is not in the state.
 */
export class EvaluationLoop {
  readonly #options: EvaluationLoopOptions
  readonly #view: StateView
  readonly #broker: Broker
  #unsubscribe: () => void = () => undefined
  #cancelUnblock: (() => void) | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: EvaluationLoopOptions) {
    this.#options = options
    this.#view = new StateView(options.store)
    this.#broker = new Broker(options.clock, () => this.#wake())
  }

  /** Rebuilds the queue from the state, then follows the log. */
  start(): void {
    const { evaluations } = this.#options.store.tables
    this.#unsubscribe = this.#options.store.log.subscribe((commits) => this.#follow(commits))
    for (const row of evaluations.rowsIn('status', 'pending')) this.#broker.add(row)
    this.#unblockSoon()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unsubscribe()
    this.#cancelUnblock?.()
    this.#broker.close()
    await this.#running
  }

  #follow(commits: readonly Commit[]): void {
    const { evaluations } = this.#options.store.tables
    for (const commit of commits)
      for (const row of commit.rows) {
        if (row.header === undefined) continue
        if (row.table === 'evaluations') {
          const evaluation = evaluations.find(row.key)
          if (evaluation?.Status === 'pending') this.#broker.add(evaluation)
        } else if (this.#mayFreeRoom(row.table, row.key)) this.#unblockSoon()
      }
  }

  /**
   * A node that came or changed, or an allocation that ended, may make room for what is blocked.
   */
  #mayFreeRoom(table: string, key: string): boolean {
    const { allocations, nodes } = this.#options.store.tables
    if (table === 'nodes') return nodes.find(key)?.Status === 'ready'
    if (table !== 'allocations') return false
    const row = allocations.find(key)
    return row !== undefined && isClientTerminal(row)
  }

  #unblockSoon(): void {
    const { clock, store } = this.#options
    if (store.tables.evaluations.countIn('status', 'blocked') === 0) return
    this.#cancelUnblock ??= clock.after(UNBLOCK_AFTER_MS, () => {
      this.#cancelUnblock = undefined
      for (const row of store.tables.evaluations.rowsIn('status', 'blocked')) this.#broker.add(row)
    })
  }

  #wake(): void {
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
      if (this.#broker.isReady && !this.#stopped) this.#wake()
    })
  }

  async #drain(): Promise<void> {
    const nextTurn = this.#options.nextTurn ?? (() => setImmediate())
    for (
      let id = this.#broker.take();
      id !== undefined && !this.#stopped;
      id = this.#broker.take()
    ) {
      const evaluation = this.#options.store.tables.evaluations.find(id)
      const isOpen = evaluation?.Status === 'pending' || evaluation?.Status === 'blocked'
      if (evaluation !== undefined && isOpen) this.#carryOut(evaluation)
      await nextTurn()
    }
  }

  #carryOut(evaluation: Evaluation): void {
    try {
      this.#commitPlan(evaluation)
    } catch (thrown) {
      // The storage has failed: the evaluation stays pending and is found again after a restart.
      if (thrown instanceof Fault) return
      this.#options.log.error(
        { evaluation: evaluation.ID, job: evaluation.JobID, err: thrown },
        'evaluation failed',
      )
      this.#commitFailure(evaluation, messageOf(thrown))
    }
  }

  #commitPlan(evaluation: Evaluation): void {
    const { store, clock, ids, random } = this.#options
    const plan = schedule(this.#view, evaluation, {
      nowMs: clock.nowMs(),
      ids,
      random,
      elapsedNs: () => Number(process.hrtime.bigint()),
    })
    const touches = [plan.placements, plan.stops, plan.updates, plan.notes].some(
      (rows) => rows.length > 0,
    )
    store.commit({
      cause: touches ? 'PlanResult' : 'EvaluationUpdated',
      changes: (stamp) => withJobRows(store.tables, planRows(store.tables, plan, stamp)),
    })
  }

  /**
   * A mistake of ours must not be tried for ever; the person who looks at the evaluation sees it.
   */
  #commitFailure(evaluation: Evaluation, reason: string): void {
    const { store } = this.#options
    store.commit({
      cause: 'EvaluationUpdated',
      changes: ({ timeMs }) =>
        withJobRows(store.tables, [
          put('evaluations', {
            ...evaluation,
            Status: 'failed',
            StatusDescription: reason,
            ModifyTime: nsFromMs(timeMs),
          }),
        ]),
    })
  }
}
