import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { newEvaluation, withNodeEvent, type NodeRow } from '../model/index.ts'
import {
  namespacedKey,
  put,
  withDerivedRows,
  type Commit,
  type Store,
  type Change,
  type Stamp,
  type Tables,
} from '../state/index.ts'
import type { Logger } from '@reeve/kit/log.ts'
import {
  decideDrain,
  type DrainDecision,
  type DrainView,
  type MigrateMark,
} from './decide-drain.ts'

/** Delay before a check: many allocations terminate at the same time. */
const CHECK_DELAY_MS = 20
/** Delay before a retry after a storage fault; no other event triggers it. */
const RETRY_DELAY_MS = 1_000
/** Maximum timer delay, so that changes of the clock are noticed. */
const MAX_TIMER_MS = 60_000

interface DrainLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Omit<Logger, 'debug'>
  /** Corrects stored deadlines if the clock has jumped. */
  readonly checkClock: () => void
}

/**
 * Migrates allocations off draining nodes. All decisions are in the state, so another leader can
 * continue; memory only holds the time of the next check.
 */
export class DrainLoop {
  readonly #options: DrainLoopOptions
  readonly #view: DrainView
  #unsubscribe: () => void = () => undefined
  #cancelTimer: () => void = () => undefined
  /** Monotonic time of the next check. */
  #nextCheckMs = Number.POSITIVE_INFINITY

  constructor(options: DrainLoopOptions) {
    this.#options = options
    this.#view = drainViewOf(options.store)
  }

  start(): void {
    this.#unsubscribe = this.#options.store.log.subscribe((commits) => this.#onCommits(commits))
    this.#scheduleCheck(0)
  }

  stop(): void {
    this.#unsubscribe()
    this.#cancelTimer()
    this.#nextCheckMs = Number.POSITIVE_INFINITY
  }

  /** Schedules a check for relevant changes, only while a node is draining. */
  #onCommits(commits: readonly Commit[]): void {
    if (!this.#isDraining) return
    const isRelevant = commits.some((commit) =>
      commit.rows.some(({ table }) => table === 'nodes' || table === 'allocations'),
    )
    if (isRelevant) this.#scheduleCheck(CHECK_DELAY_MS)
  }

  get #isDraining(): boolean {
    return this.#options.store.tables.nodes.countByIndex('draining', 'yes') > 0
  }

  /** Schedules a check, unless an earlier one is scheduled. */
  #scheduleCheck(requestedMs: number): void {
    const { clock } = this.#options
    const delayMs = Math.min(Math.max(0, requestedMs), MAX_TIMER_MS)
    const dueMs = clock.monotonicMs() + delayMs
    if (dueMs >= this.#nextCheckMs) return
    this.#cancelTimer()
    this.#nextCheckMs = dueMs
    this.#cancelTimer = clock.after(delayMs, () => {
      this.#nextCheckMs = Number.POSITIVE_INFINITY
      this.#check()
    })
  }

  #check(): void {
    if (!this.#isDraining) return
    const { clock, log, checkClock } = this.#options
    checkClock()
    const decision = decideDrain(this.#view, clock.nowMs())
    try {
      this.#commit(decision)
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'a drain could not go on')
      return this.#scheduleCheck(RETRY_DELAY_MS)
    }
    if (decision.nextCheckMs !== undefined)
      this.#scheduleCheck(decision.nextCheckMs - clock.nowMs())
  }

  /**
   * Commits the decision: allocations first, then nodes; each commit produces its own event type.
   */
  #commit({ marks, completed }: DrainDecision): void {
    const { store, ids, log } = this.#options
    if (marks.length > 0)
      store.commit({
        by: 'system',
        cause: 'AllocationUpdateDesiredStatus',
        changes: (stamp) =>
          withDerivedRows(store.tables, migrateMarkChanges(store.tables, marks, { stamp, ids })),
      })
    if (completed.length === 0) return
    store.commit({
      by: 'system',
      cause: 'NodeDrain',
      changes: (stamp) => completed.map((one) => put('nodes', drainedNode(one, stamp))),
    })
    for (const { node, deadlineReached } of completed)
      log.info({ nodeId: node.ID, name: node.Name, deadlineReached }, 'node drain complete')
  }
}

function drainViewOf({ tables }: Store): DrainView {
  return {
    drainingNodes: () => tables.nodes.rowsByIndex('draining', 'yes'),
    allocationsOn: (nodeId) => tables.allocations.rowsByIndex('node', nodeId),
    allocationsOf: (namespace, jobId) =>
      tables.allocations.rowsByIndex('job', namespacedKey(namespace, jobId)),
    findJob: (namespace, id) => tables.jobs.find(namespacedKey(namespace, id)),
  }
}

/** Changes of one commit: the marked allocations and one evaluation per job. */
function migrateMarkChanges(
  tables: Tables,
  marks: readonly MigrateMark[],
  { stamp, ids }: { readonly stamp: Stamp; readonly ids: IdSource },
): Change[] {
  const jobs = new Map(
    marks.map(({ row }) => [namespacedKey(row.Namespace, row.JobID), row] as const),
  )
  const evaluations = [...jobs]
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([key, { NodeID }]) => {
      const job = tables.jobs.find(key)
      if (job === undefined) return []
      const evaluation = newEvaluation(job, {
        id: ids.uuid(),
        trigger: 'node-drain',
        timeMs: stamp.timeMs,
        jobModifyIndex: job.JobModifyIndex,
      })
      return [put('evaluations', { ...evaluation, NodeID, NodeModifyIndex: 0 })]
    })
  return [...marks.map((mark) => put('allocations', withMigrate(mark, stamp))), ...evaluations]
}

function withMigrate({ row, disablePlacement }: MigrateMark, { index, timeMs }: Stamp) {
  return {
    ...row,
    DesiredTransition: {
      ...row.DesiredTransition,
      Migrate: true,
      ...(disablePlacement ? { MigrateDisablePlacement: true } : {}),
    },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** Completes the drain of a node, which stays ineligible until an operator changes that. */
function drainedNode(
  { node, deadlineReached }: DrainDecision['completed'][number],
  stamp: Stamp,
): NodeRow {
  const details = deadlineReached ? { details: { deadline_reached: 'true' } } : {}
  const event = { subsystem: 'Drain', message: 'Node drain complete', ...details } as const
  return {
    ...node,
    Drain: false,
    DrainStrategy: null,
    LastDrain:
      node.LastDrain === null
        ? null
        : { ...node.LastDrain, Status: 'complete', UpdatedAt: isoFromMs(stamp.timeMs) },
    Events: withNodeEvent(node.Events, event, stamp),
  }
}
