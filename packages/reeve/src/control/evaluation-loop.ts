import { setImmediate } from 'node:timers/promises'
import type { Evaluation } from '@reeve/contract'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import { isClientTerminal, LIMITS } from '../model/index.ts'
import { schedule, type ClusterView } from '../scheduler/index.ts'
import {
  namespacedKey,
  put,
  withDerivedRows,
  type Change,
  type Commit,
  type Stamp,
  type Store,
  type Tables,
  type CommittedRow,
} from '../state/index.ts'
import { changesState, isBlockedForSameReasons, planRows, systemNs } from '../workload/index.ts'
import type { Logger } from '@reeve/kit/log.ts'
import type { DequeuedEvaluation, EvaluationBroker } from './evaluation-broker.ts'

/** Delay before blocked evaluations are queued again: many resources are freed at the same time. */
const UNBLOCK_DELAY_MS = 20
/**
 * Time slice before the loop yields. With one evaluation per slice the queue grows while jobs are
 * registered: 25,000 after 14 s (measured); with this slice, none.
 */
const TIME_SLICE_NS = 2_000_000
/** Delay before a failed evaluation is retried, plus a random part of up to five minutes. */
const MIN_RETRY_DELAY_MS = 60_000
const RETRY_JITTER_MS = 5 * 60_000
/** Delay before evaluations are retried while the state has reached its size limit. */
const CAPACITY_RETRY_MS = 1_000

interface EvaluationLoopOptions {
  readonly store: Store
  readonly view: ClusterView
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: Random
  readonly log: Omit<Logger, 'debug'>
  readonly capacity: Pick<StateCapacity, 'shortage'>
  /** Enabled while the loop runs. */
  readonly broker: EvaluationBroker
  /** Yields to the event loop between slices. */
  readonly yieldToEventLoop?: () => Promise<void>
  /** Monotonic clock for slices and metrics. A simulation has its own. */
  readonly monotonicNs?: () => number
  /** Maximum number of placements per plan; default: LIMITS.placementsPerPlanMax. */
  readonly placementsMax?: number
  /** Undefined without tracing. */
  readonly tracer?: Tracer | undefined
}

/**
 * Processes evaluations by priority: schedules each and commits the plan. It works on live state,
 * one evaluation at a time, so plans never conflict, and holds no state of its own.
 */
export class EvaluationLoop {
  readonly #options: EvaluationLoopOptions
  readonly #broker: EvaluationBroker
  readonly #unblockTracker: UnblockTracker
  #unsubscribe: () => void = () => undefined
  #cancelUnblock: (() => void) | undefined
  /** Evaluations postponed while the state is at its size limit. */
  readonly #postponed = new Set<string>()
  #cancelPostponed: (() => void) | undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: EvaluationLoopOptions) {
    this.#options = options
    this.#broker = options.broker
    this.#unblockTracker = new UnblockTracker(options.store.tables)
  }

  /** Builds the queue from the state, then follows the log. */
  start(): void {
    const { evaluations } = this.#options.store.tables
    this.#unsubscribe = this.#options.store.log.subscribe((commits) => this.#onCommits(commits))
    this.#broker.enable(() => this.#startProcessing())
    for (const row of evaluations.rowsByIndex('status', 'pending')) this.#broker.enqueue(row)
    if (evaluations.countByIndex('status', 'blocked') === 0) return
    this.#unblockTracker.recordAll()
    this.#unblockSoon()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unsubscribe()
    this.#cancelUnblock?.()
    this.#cancelPostponed?.()
    this.#broker.disable()
    await this.#running
  }

  #onCommits(commits: readonly Commit[]): void {
    const { evaluations } = this.#options.store.tables
    // Usually nothing is blocked; freed capacity is then ignored.
    const hasBlocked = evaluations.countByIndex('status', 'blocked') > 0
    for (const commit of commits)
      for (const row of commit.rows) {
        if (row.header === undefined) continue
        if (row.table === 'evaluations') {
          const evaluation = evaluations.find(row.key)
          if (evaluation?.Status === 'pending') this.#broker.enqueue(evaluation)
          continue
        }
        if (hasBlocked && this.#unblockTracker.record(row)) this.#unblockSoon()
        // An operator may have resumed the broker.
        if (row.table === 'settings') this.#startProcessing()
      }
  }

  #unblockSoon(): void {
    const { clock } = this.#options
    this.#cancelUnblock ??= clock.after(UNBLOCK_DELAY_MS, () => {
      this.#cancelUnblock = undefined
      for (const row of this.#unblockTracker.takeUnblocked()) this.#broker.enqueue(row)
    })
  }

  #startProcessing(): void {
    // Starts after the current turn of the event loop, so that evaluations added together are
    // processed together.
    this.#running ??= RESOLVED.then(() => this.#processQueue()).finally(() => {
      this.#running = undefined
      if (this.#hasWork()) this.#startProcessing()
    })
  }

  #hasWork(): boolean {
    return this.#broker.hasReady && !this.#stopped
  }

  get #monotonicNs(): () => number {
    return this.#options.monotonicNs ?? systemNs
  }

  async #processQueue(): Promise<void> {
    const yieldToEventLoop = this.#options.yieldToEventLoop ?? (() => setImmediate())
    const monotonicNs = this.#monotonicNs
    let sliceEndNs = monotonicNs() + TIME_SLICE_NS
    for (let next = this.#broker.dequeue(); next !== undefined; next = this.#broker.dequeue()) {
      const evaluation = this.#options.store.tables.evaluations.get(next.id)
      if (this.#isAllowed(evaluation))
        this.#trace(evaluation, () => this.#process(evaluation, next))
      else this.#postpone(evaluation, next)
      if (monotonicNs() < sliceEndNs) continue
      await yieldToEventLoop()
      if (this.#stopped) return
      sliceEndNs = monotonicNs() + TIME_SLICE_NS
    }
  }

  /** While the state is at its size limit, only jobs that stop are evaluated. */
  #isAllowed({ Namespace, JobID }: Evaluation): boolean {
    const { store, capacity } = this.#options
    if (capacity.shortage === undefined) return true
    return store.tables.jobs.find(namespacedKey(Namespace, JobID))?.Stop !== false
  }

  #postpone(evaluation: Evaluation, { superseded }: DequeuedEvaluation): void {
    for (const id of [evaluation.ID, ...superseded]) this.#postponed.add(id)
    this.#cancelPostponed ??= this.#options.clock.after(CAPACITY_RETRY_MS, () => {
      this.#cancelPostponed = undefined
      const ids = [...this.#postponed]
      this.#postponed.clear()
      const { evaluations } = this.#options.store.tables
      for (const row of ids.flatMap((id) => evaluations.find(id) ?? [])) this.#broker.enqueue(row)
    })
  }

  /** Processes the evaluation in a span of the trace of its request, if there is one. */
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

  #process(evaluation: Evaluation, dequeued: DequeuedEvaluation): void {
    try {
      this.#commitPlan(evaluation, dequeued)
    } catch (thrown) {
      // Storage fault: the evaluation stays pending and is processed after a restart.
      if (thrown instanceof Fault) return
      this.#options.log.error(
        { evaluation: evaluation.ID, job: evaluation.JobID, err: thrown },
        'evaluation failed',
      )
      this.#commitFailure(evaluation, errorMessage(thrown))
    }
  }

  #commitPlan(evaluation: Evaluation, { superseded }: DequeuedEvaluation): void {
    const { store, view, clock, ids, random } = this.#options
    const plan = schedule(view, evaluation, {
      nowMs: clock.nowMs(),
      ids,
      random,
      placementsMax: this.#options.placementsMax ?? LIMITS.placementsPerPlanMax,
      coalescedEvaluations: superseded.flatMap((id) => store.tables.evaluations.find(id) ?? []),
      monotonicNs: this.#monotonicNs,
    })
    const isPartial = plan.evaluation.Status === 'pending'
    store.commit({
      by: 'system',
      cause: changesState(plan) ? 'PlanResult' : 'EvaluationUpdated',
      changes: (stamp) => {
        const changes = [
          ...planRows(store.tables, plan, stamp),
          ...(isPartial
            ? []
            : supersededRows(store.tables, { ids: superseded, by: evaluation.ID }, stamp)),
        ]
        // Only the evaluation itself, still blocked for the same reasons: skip the write.
        if (changes.length === 1 && isBlockedForSameReasons(evaluation, plan)) return []
        return withDerivedRows(store.tables, changes)
      },
    })
    // The commit queues the evaluation again; the superseded ones are completed by its last plan.
    if (isPartial) for (const id of superseded) this.#requeue(id)
  }

  #requeue(id: string): void {
    const row = this.#options.store.tables.evaluations.find(id)
    if (row?.Status === 'pending') this.#broker.enqueue(row)
  }

  /**
   * Marks an evaluation as failed after a bug; a delayed follow-up retries it. The status
   * description tells the reason.
   */
  #commitFailure(evaluation: Evaluation, reason: string): void {
    const { store, ids, random } = this.#options
    const retryId = ids.uuid()
    const waitMs = Math.round(MIN_RETRY_DELAY_MS + random.next() * RETRY_JITTER_MS)
    store.commit({
      by: 'system',
      cause: 'EvaluationUpdated',
      changes: ({ timeMs }) =>
        withDerivedRows(store.tables, [
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

const RESOLVED = Promise.resolve()

interface SupersededBy {
  readonly ids: readonly string[]
  readonly by: string
}

/** Cancels the evaluations that were superseded by the processed one. */
function supersededRows(tables: Tables, { ids, by }: SupersededBy, stamp: Stamp): Change[] {
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

/**
 * Tracks where capacity may have been freed since blocked evaluations were last queued: node
 * classes, or everywhere.
 */
class UnblockTracker {
  readonly #tables: Tables
  readonly #nodeClasses = new Set<string>()
  #isEverywhere = false

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** Records a written row; returns true if it may have freed capacity. */
  record({ table, key }: CommittedRow): boolean {
    if (table === 'settings' || table === 'node_pools') return this.recordAll()
    if (table === 'nodes') return this.#recordNode(key)
    if (table === 'host_volumes') return this.#recordVolume(key)
    if (table !== 'allocations') return false
    const row = this.#tables.allocations.find(key)
    return row !== undefined && isClientTerminal(row) && this.#recordNode(row.NodeID)
  }

  recordAll(): true {
    this.#isEverywhere = true
    return true
  }

  /** Returns the blocked evaluations that may succeed now, and resets the tracker. */
  takeUnblocked(): readonly Evaluation[] {
    const classes = [...this.#nodeClasses]
    const isEverywhere = this.#isEverywhere
    this.#nodeClasses.clear()
    this.#isEverywhere = false
    return this.#tables.evaluations
      .rowsByIndex('status', 'blocked')
      .filter((row) => isEverywhere || classes.some((one) => isClassEligible(row, one)))
  }

  /** Records a volume that became ready or was changed. */
  #recordVolume(key: string): boolean {
    const volume = this.#tables.host_volumes.find(key)
    return volume?.State === 'ready' && this.#recordNode(volume.NodeID)
  }

  #recordNode(nodeId: string): boolean {
    const node = this.#tables.nodes.find(nodeId)
    if (node?.Status !== 'ready') return false
    this.#nodeClasses.add(node.ComputedClass)
    return true
  }
}

/**
 * True if nodes of the class may be eligible; classes that were unknown when it blocked count as
 * eligible.
 */
function isClassEligible(
  { EscapedComputedClass, ClassEligibility }: Evaluation,
  nodeClass: string,
): boolean {
  return EscapedComputedClass || ClassEligibility?.[nodeClass] !== false
}
