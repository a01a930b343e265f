import type {
  DesiredUpdates,
  Evaluation,
  Job,
  PlacementMetrics,
  ResourceTotals,
  TaskGroup,
} from '@reeve/contract'
import { isoFromMs, nsFromMs } from '../kit/duration.ts'
import { compareText } from '../kit/sorted-list.ts'
import { newEvaluation, type AllocationRow } from '../model/index.ts'
import type { Plan } from './plan.ts'
import type { Placer } from './placer.ts'
import type { Deferred } from './reconcile/classify.ts'
import type { ClusterView, SchedulingContext } from './view.ts'

/**
 * Failed allocations due within this of one another share a follow-up (scheduling reference §6.3).
 */
const FOLLOW_UP_WINDOW_MS = 5_000

export const NO_UPDATES: DesiredUpdates = {
  Ignore: 0,
  Place: 0,
  Migrate: 0,
  Stop: 0,
  InPlaceUpdate: 0,
  DestructiveUpdate: 0,
  Canary: 0,
  Preemptions: 0,
  Disconnect: 0,
  Reconnect: 0,
  RescheduleNow: 0,
  RescheduleLater: 0,
}

export interface OutcomeOptions {
  readonly view: ClusterView
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
}

/** Gathers what one evaluation decides, and makes the plan of it. */
export class Outcome {
  readonly #options: OutcomeOptions
  readonly #stops = new Map<string, AllocationRow>()
  readonly #placements: AllocationRow[] = []
  readonly #updates: AllocationRow[] = []
  readonly #notes: AllocationRow[] = []
  readonly #followUps: Evaluation[] = []
  readonly #failures = new Map<string, Failure>()
  readonly #desired = new Map<string, DesiredUpdates>()

  constructor(options: OutcomeOptions) {
    this.#options = options
  }

  /** Ends an allocation; a second call for the same one adds to the first. */
  stop(row: AllocationRow, change: Partial<AllocationRow>): void {
    const before = this.#stops.get(row.ID) ?? row
    this.#stops.set(row.ID, { ...before, DesiredStatus: 'stop', ...change, ...this.#written() })
  }

  place(row: AllocationRow): void {
    this.#placements.push(row)
  }

  update(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#updates.push({ ...row, ...change, ...this.#written() })
  }

  note(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#notes.push({ ...row, ...change, ...this.#written() })
  }

  /**
   * The first failure of a group is explained; the others are counted (scheduling reference §9.1).
   */
  fail(group: TaskGroup, metrics: PlacementMetrics): void {
    this.#failures.set(group.Name, { group, metrics, unplaced: 1 })
  }

  /** Whether the group has failed already; if so, this instance is counted with it. */
  coalesce(group: TaskGroup): boolean {
    const failure = this.#failures.get(group.Name)
    if (failure !== undefined) failure.unplaced += 1
    return failure !== undefined
  }

  desire(group: string, updates: DesiredUpdates): void {
    this.#desired.set(group, updates)
  }

  /**
   * Failed allocations that may be replaced later: one evaluation for those that are due together.
   */
  defer(job: Job, deferred: readonly Deferred[]): void {
    const waiting = deferred
      .filter(({ row }) => (row.FollowupEvalID ?? '') === '')
      .toSorted((a, b) => a.dueMs - b.dueMs || compareText(a.row.ID, b.row.ID))
    let batch: { readonly firstMs: number; readonly evaluation: Evaluation } | undefined
    for (const { row, dueMs } of waiting) {
      if (batch === undefined || dueMs > batch.firstMs + FOLLOW_UP_WINDOW_MS) {
        batch = { firstMs: dueMs, evaluation: this.#followUp(job, dueMs) }
        this.#followUps.push(batch.evaluation)
      }
      this.note(row, { FollowupEvalID: batch.evaluation.ID })
    }
  }

  finish(job: Job | undefined, placer: Placer | undefined): Plan {
    const { evaluation } = this.#options
    const blocked = job === undefined || placer === undefined ? undefined : this.#block(job, placer)
    const reblocked = blocked !== undefined && isBlockedRun(evaluation)
    const annotations = { DesiredTGUpdates: this.#sorted(this.#desired), PreemptedAllocs: null }
    const done: Evaluation = {
      ...evaluation,
      Status: 'complete',
      StatusDescription: '',
      NextEval: this.#followUps[0]?.ID ?? '',
      BlockedEval: blocked?.ID ?? '',
      FailedTGAllocs: this.#failedGroups(),
      QueuedAllocations: this.#queued(job),
      PlanAnnotations: evaluation.AnnotatePlan ? annotations : null,
      ClassEligibility: null,
      EscapedComputedClass: false,
      SnapshotIndex: this.#options.view.index,
      ModifyTime: nsFromMs(this.#options.context.nowMs),
    }
    return {
      evaluation: reblocked ? { ...done, ...waitingAgain(blocked) } : done,
      placements: this.#placements,
      stops: [...this.#stops.values()],
      updates: this.#updates,
      notes: this.#notes,
      followUps: this.#followUps,
      blocked: reblocked ? undefined : blocked,
      annotations,
    }
  }

  #written(): Pick<AllocationRow, 'ModifyTime'> {
    return { ModifyTime: nsFromMs(this.#options.context.nowMs) }
  }

  #followUp(job: Job, dueMs: number): Evaluation {
    const { evaluation, context } = this.#options
    return {
      ...newEvaluation(job, {
        id: context.ids.uuid(),
        trigger: this.#followUps.length === 0 ? 'alloc-reschedule' : 'alloc-failure',
        timeMs: context.nowMs,
        jobModifyIndex: job.JobModifyIndex,
        priority: evaluation.Priority,
      }),
      PreviousEval: evaluation.ID,
      WaitUntil: isoFromMs(dueMs),
      StatusDescription: 'waits to replace a failed allocation',
    }
  }

  /**
   * The evaluation that waits for room (scheduling reference §4); undefined when none is missing.
   */
  #block(job: Job, placer: Placer): Evaluation | undefined {
    if (this.#failures.size === 0) return undefined
    const { evaluation, context, view } = this.#options
    const groups = [...this.#failures.values()].map((failure) => failure.group)
    const { escaped, eligible } = placer.classesOf(groups)
    return {
      ...newEvaluation(job, {
        id: isBlockedRun(evaluation) ? evaluation.ID : context.ids.uuid(),
        trigger: 'queued-allocs',
        timeMs: context.nowMs,
        jobModifyIndex: job.JobModifyIndex,
        priority: evaluation.Priority,
      }),
      Status: 'blocked',
      StatusDescription: 'waits for room to place the remaining allocations',
      PreviousEval: evaluation.ID,
      FailedTGAllocs: this.#failedGroups(),
      QueuedAllocations: this.#queued(job),
      ClassEligibility: escaped ? null : this.#sorted(eligible),
      EscapedComputedClass: escaped,
      SnapshotIndex: view.index,
    }
  }

  #failedGroups(): Evaluation['FailedTGAllocs'] {
    if (this.#failures.size === 0) return null
    return this.#sorted(
      new Map([...this.#failures].map(([name, failure]) => [name, failureMetrics(failure)])),
    )
  }

  /** Groups that are complete are named too, with zero. */
  #queued(job: Job | undefined): Readonly<Record<string, number>> {
    const groups = (job?.TaskGroups ?? []).map((group) => group.Name)
    return this.#sorted(
      new Map(groups.map((name) => [name, this.#failures.get(name)?.unplaced ?? 0])),
    )
  }

  #sorted<T>(map: ReadonlyMap<string, T>): Readonly<Record<string, T>> {
    return Object.fromEntries([...map].toSorted(([a], [b]) => compareText(a, b)))
  }
}

interface Failure {
  readonly group: TaskGroup
  readonly metrics: PlacementMetrics
  unplaced: number
}

function failureMetrics({ metrics, unplaced }: Failure): PlacementMetrics {
  const asked = metrics.ResourcesExhausted
  const times = (totals: ResourceTotals): ResourceTotals => ({
    ...totals,
    CPU: totals.CPU * unplaced,
    MemoryMB: totals.MemoryMB * unplaced,
  })
  return {
    ...metrics,
    CoalescedFailures: unplaced - 1,
    ResourcesExhausted:
      asked === null
        ? null
        : Object.fromEntries(Object.entries(asked).map(([task, totals]) => [task, times(totals)])),
  }
}

/** An evaluation that waited for room keeps its record as long as room is missing. */
function isBlockedRun(evaluation: Evaluation): boolean {
  return evaluation.Status === 'blocked' || evaluation.TriggeredBy === 'queued-allocs'
}

function waitingAgain(blocked: Evaluation): Partial<Evaluation> {
  return {
    Status: 'blocked',
    StatusDescription: blocked.StatusDescription,
    BlockedEval: '',
    ClassEligibility: blocked.ClassEligibility,
    EscapedComputedClass: blocked.EscapedComputedClass,
  }
}
