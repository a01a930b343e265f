import { setImmediate } from 'node:timers/promises'
import type { Evaluation } from '@reeve/contract'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import { LIMITS } from '../model/index.ts'
import { schedule, type ClusterView } from '../scheduler/index.ts'
import {
  namespacedKey,
  put,
  withJobRows,
  type Change,
  type Commit,
  type Stamp,
  type Store,
  type Tables,
} from '../state/index.ts'
import { isChange, isSameWait, planRows, systemNs } from '../workload/index.ts'
import type { ControlLog } from './control-log.ts'
import { FreedRoom } from './freed-room.ts'
import type { Due } from './ready-queue.ts'
import type { EvaluationBroker } from './evaluation-broker.ts'

/**
 * Many things free up at once; what is blocked is looked at again this long after the first of
 * them.
 */
const UNBLOCK_AFTER_MS = 20
/**
 * How long evaluations are carried out before others get their turn. One evaluation a turn falls
 * behind while jobs are registered: 25,000 waited after 14 s (measured); with this, none.
 */
const SLICE_NS = 2_000_000
/** What failed is tried again after a minute and up to five more. */
const RETRY_MS = 60_000
const RETRY_SPREAD_MS = 5 * 60_000
/** How long evaluations wait before they are looked at again while the state may not grow. */
const HOLD_MS = 1_000

export interface EvaluationLoopOptions {
  readonly store: Store
  readonly view: ClusterView
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: Random
  readonly log: ControlLog
  readonly capacity: Pick<StateCapacity, 'shortage'>
  /** Enabled while the loop runs. */
  readonly broker: EvaluationBroker
  /** Gives others their turn between two slices. */
  readonly nextTurn?: () => Promise<void>
  /** A stopwatch: how long slices and decisions take. A simulation has its own. */
  readonly elapsedNs?: () => number
  /** Allocations that one plan places; LIMITS.placementsPerPlanMax unless given. */
  readonly placementsMax?: number
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined
}

/**
 * Takes evaluations in order of priority, lets the scheduler decide, and commits its plan. It works
 * on live state, one evaluation at a time, so a plan never conflicts with another. It remembers
 * nothing that is not in the state.
 */
export class EvaluationLoop {
  readonly #options: EvaluationLoopOptions
  readonly #broker: EvaluationBroker
  readonly #freed: FreedRoom
  #unsubscribe: () => void = () => undefined
  #cancelUnblock: (() => void) | undefined
  /** Evaluations that wait until the state may grow. */
  readonly #held = new Set<string>()
  #cancelHeld: (() => void) | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: EvaluationLoopOptions) {
    this.#options = options
    this.#broker = options.broker
    this.#freed = new FreedRoom(options.store.tables)
  }

  /** Rebuilds the queue from the state, then follows the log. */
  start(): void {
    const { evaluations } = this.#options.store.tables
    this.#unsubscribe = this.#options.store.log.subscribe((commits) => this.#follow(commits))
    this.#broker.enable(() => this.#wake())
    for (const row of evaluations.rowsIn('status', 'pending')) this.#broker.add(row)
    if (evaluations.countIn('status', 'blocked') === 0) return
    this.#freed.noteAnywhere()
    this.#unblockSoon()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unsubscribe()
    this.#cancelUnblock?.()
    this.#cancelHeld?.()
    this.#broker.disable()
    await this.#running
  }

  #follow(commits: readonly Commit[]): void {
    const { evaluations } = this.#options.store.tables
    // Nobody waits for room most of the time: then what ends is of no interest.
    const isAwaited = evaluations.countIn('status', 'blocked') > 0
    for (const commit of commits)
      for (const row of commit.rows) {
        if (row.header === undefined) continue
        if (row.table === 'evaluations') {
          const evaluation = evaluations.find(row.key)
          if (evaluation?.Status === 'pending') this.#broker.add(evaluation)
          continue
        }
        if (isAwaited && this.#freed.note(row)) this.#unblockSoon()
        // The operator may have let go what was paused.
        if (row.table === 'settings') this.#wake()
      }
  }

  #unblockSoon(): void {
    const { clock } = this.#options
    this.#cancelUnblock ??= clock.after(UNBLOCK_AFTER_MS, () => {
      this.#cancelUnblock = undefined
      for (const row of this.#freed.takeConcerned()) this.#broker.add(row)
    })
  }

  #wake(): void {
    // What was added in the same turn is looked at together.
    this.#running ??= DONE.then(() => this.#drain()).finally(() => {
      this.#running = undefined
      if (this.#mayGoOn()) this.#wake()
    })
  }

  #mayGoOn(): boolean {
    return this.#broker.hasDue && !this.#stopped
  }

  get #elapsedNs(): () => number {
    return this.#options.elapsedNs ?? systemNs
  }

  async #drain(): Promise<void> {
    const nextTurn = this.#options.nextTurn ?? (() => setImmediate())
    const elapsedNs = this.#elapsedNs
    let sliceEndNs = elapsedNs() + SLICE_NS
    for (let due = this.#broker.take(); due !== undefined; due = this.#broker.take()) {
      const evaluation = this.#options.store.tables.evaluations.get(due.id)
      if (this.#mayCarryOut(evaluation))
        this.#trace(evaluation, () => this.#carryOut(evaluation, due))
      else this.#hold(evaluation, due)
      if (elapsedNs() < sliceEndNs) continue
      await nextTurn()
      if (this.#stopped) return
      sliceEndNs = elapsedNs() + SLICE_NS
    }
  }

  /** While the state may not grow, only what stops allocations is decided. */
  #mayCarryOut({ Namespace, JobID }: Evaluation): boolean {
    const { store, capacity } = this.#options
    if (capacity.shortage === undefined) return true
    return store.tables.jobs.find(namespacedKey(Namespace, JobID))?.Stop !== false
  }

  #hold(evaluation: Evaluation, { superseded }: Due): void {
    for (const id of [evaluation.ID, ...superseded]) this.#held.add(id)
    this.#cancelHeld ??= this.#options.clock.after(HOLD_MS, () => {
      this.#cancelHeld = undefined
      const held = [...this.#held]
      this.#held.clear()
      const { evaluations } = this.#options.store.tables
      for (const row of held.flatMap((id) => evaluations.find(id) ?? [])) this.#broker.add(row)
    })
  }

  /** As a span of the trace whose request made the evaluation, if there is one. */
  #trace({ ID: id, JobID: job, TriggeredBy: trigger }: Evaluation, work: () => void): void {
    const { tracer } = this.#options
    const parent = tracer?.recall(id)
    if (tracer === undefined || parent === undefined) return work()
    const span = tracer.start({
      name: 'schedule',
      parent,
      kind: 'consumer',
      attributes: { 'reeve.evaluation': id, 'reeve.job': job, 'reeve.trigger': trigger },
    })
    tracer.during(span.context, work)
    span.end()
  }

  #carryOut(evaluation: Evaluation, due: Due): void {
    try {
      this.#commitPlan(evaluation, due)
    } catch (thrown) {
      // The storage has failed: the evaluation stays pending and is found again after a restart.
      if (thrown instanceof Fault) return
      this.#options.log.error(
        { evaluation: evaluation.ID, job: evaluation.JobID, err: thrown },
        'evaluation failed',
      )
      this.#commitFailure(evaluation, errorMessage(thrown))
    }
  }

  #commitPlan(evaluation: Evaluation, { superseded }: Due): void {
    const { store, view, clock, ids, random } = this.#options
    const plan = schedule(view, evaluation, {
      nowMs: clock.nowMs(),
      ids,
      random,
      placementsMax: this.#options.placementsMax ?? LIMITS.placementsPerPlanMax,
      settles: superseded.flatMap((id) => store.tables.evaluations.find(id) ?? []),
      elapsedNs: this.#elapsedNs,
    })
    const isPartial = plan.evaluation.Status === 'pending'
    store.commit({
      by: 'system',
      cause: isChange(plan) ? 'PlanResult' : 'EvaluationUpdated',
      changes: (stamp) => {
        const rows = [
          ...planRows(store.tables, plan, stamp),
          ...(isPartial
            ? []
            : supersededRows(store.tables, { ids: superseded, by: evaluation.ID }, stamp)),
        ]
        // Itself alone, and nothing new of it: nobody has to be told.
        if (rows.length === 1 && isSameWait(evaluation, plan)) return []
        return withJobRows(store.tables, rows)
      },
    })
    // The commit queues the evaluation itself again; the others are settled by its last plan.
    if (isPartial) for (const id of superseded) this.#requeue(id)
  }

  #requeue(id: string): void {
    const row = this.#options.store.tables.evaluations.find(id)
    if (row?.Status === 'pending') this.#broker.add(row)
  }

  /**
   * A mistake of ours must not be tried at once again; the person who looks at the evaluation sees
   * it.
   */
  #commitFailure(evaluation: Evaluation, reason: string): void {
    const { store, ids, random } = this.#options
    const retryId = ids.uuid()
    const waitMs = Math.round(RETRY_MS + random.next() * RETRY_SPREAD_MS)
    store.commit({
      by: 'system',
      cause: 'EvaluationUpdated',
      changes: ({ timeMs }) =>
        withJobRows(store.tables, [
          put('evaluations', {
            ...evaluation,
            Status: 'failed',
            StatusDescription: reason,
            NextEval: retryId,
            ModifyTime: nsFromMs(timeMs),
          }),
          put('evaluations', {
            ...evaluation,
            ID: retryId,
            TriggeredBy: 'failed-follow-up',
            Status: 'pending',
            StatusDescription: '',
            PreviousEval: evaluation.ID,
            NextEval: '',
            Wait: nsFromMs(waitMs),
            WaitUntil: isoFromMs(timeMs + waitMs),
            CreateTime: nsFromMs(timeMs),
            ModifyTime: nsFromMs(timeMs),
          }),
        ]),
    })
  }
}

const DONE = Promise.resolve()

interface Superseded {
  readonly ids: readonly string[]
  readonly by: string
}

/** What waited for the same decision is settled with it. */
function supersededRows(tables: Tables, { ids, by }: Superseded, stamp: Stamp): Change[] {
  return ids.flatMap((id) => {
    const row = tables.evaluations.find(id)
    if (row?.Status !== 'pending') return []
    return put('evaluations', {
      ...row,
      Status: 'canceled',
      StatusDescription: `superseded by evaluation "${by}"`,
      ModifyTime: nsFromMs(stamp.timeMs),
    })
  })
}
