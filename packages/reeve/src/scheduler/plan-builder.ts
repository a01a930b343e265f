import type {
  Deployment,
  DesiredUpdates,
  Evaluation,
  Job,
  PlacementMetrics,
  PlanAnnotations,
  ResourceTotals,
  TaskGroup,
  Trigger,
} from '@reeve/contract'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { allocationStub, newEvaluation, type AllocationRow } from '../model/index.ts'
import { batchFollowUps, type DelayedReschedule } from './reconcile/classify.ts'
import type { Plan } from './plan.ts'
import type { Placer } from './placer.ts'
import { STOP_DESCRIPTIONS } from './reconcile/allocation-state.ts'
import type { ClusterView, SchedulingContext } from './cluster-view.ts'

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

interface PlanBuilderOptions {
  readonly view: ClusterView
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
}

/**
 * IDs of the evaluations that this run processes. Allocations that wait for one of them are due.
 */
export function coalescedEvaluationIds({
  evaluation,
  context,
}: Pick<PlanBuilderOptions, 'evaluation' | 'context'>): ReadonlySet<string> {
  return new Set([evaluation, ...(context.coalescedEvaluations ?? [])].map(({ ID }) => ID))
}

/** Kinds of change to an existing allocation; the first that applies wins. */
const CHANGE_KINDS = ['stop', 'update', 'note'] as const
type ChangeKind = (typeof CHANGE_KINDS)[number]

interface AllocationChange {
  readonly kind: ChangeKind
  readonly row: AllocationRow
}

/** Collects the decisions of one evaluation and builds the plan. */
export class PlanBuilder {
  readonly #options: PlanBuilderOptions
  /** One entry per allocation; later changes are merged into it. */
  readonly #changesById = new Map<string, AllocationChange>()
  readonly #placements: AllocationRow[] = []
  readonly #preemptedRows = new Map<string, AllocationRow>()
  readonly #preemptionCounts = new Map<string, number>()
  readonly #withheld: AllocationRow[] = []
  readonly #withheldByBudget = new Map<string, number>()
  readonly #followUps: Evaluation[] = []
  readonly #failures = new Map<string, PlacementFailure>()
  readonly #desiredUpdates = new Map<string, DesiredUpdates>()
  readonly #endedDeployments: Deployment[] = []
  #deployment: Deployment | undefined
  #deploymentId: string | undefined

  constructor(options: PlanBuilderOptions) {
    this.#options = options
  }

  /** Stops an allocation; further calls for the same one merge their fields. */
  stop(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#change('stop', row, { DesiredStatus: 'stop', ...change })
  }

  update(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#change('update', row, change)
  }

  updateAttributes(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#change('note', row, change)
  }

  #change(kind: ChangeKind, row: AllocationRow, change: Partial<AllocationRow>): void {
    const before = this.#changesById.get(row.ID)
    const strongest = CHANGE_KINDS.find((one) => one === kind || one === before?.kind) ?? kind
    const next = { ...(before?.row ?? row), ...change, ...this.#modifyTime() }
    this.#changesById.set(row.ID, { kind: strongest, row: next })
  }

  /** Adds a placement and the allocations of other jobs that it preempts. */
  place(row: AllocationRow, preempted: readonly AllocationRow[] = []): void {
    this.#placements.push(row)
    for (const victim of preempted)
      this.#preemptedRows.set(victim.ID, {
        ...victim,
        DesiredStatus: 'evict',
        DesiredDescription: STOP_DESCRIPTIONS.preempted(row.ID),
        PreemptedByAllocation: row.ID,
        ...this.#modifyTime(),
      })
    const { TaskGroup: group } = row
    if (preempted.length > 0)
      this.#preemptionCounts.set(group, (this.#preemptionCounts.get(group) ?? 0) + preempted.length)
  }

  get placementCount(): number {
    return this.#placements.length
  }

  get hasFailedPlacements(): boolean {
    return this.#failures.size > 0
  }

  /**
   * Starts recording placements. The returned function rolls back every placement, stop and
   * preemption since then; failures stay recorded, and placements that succeeded count as queued.
   */
  beginPlacements(): () => void {
    const before = new Map(this.#changesById)
    return () => {
      for (const row of this.#placements.splice(0)) this.#withheld.push(row)
      this.#preemptedRows.clear()
      this.#preemptionCounts.clear()
      this.#changesById.clear()
      for (const [id, changed] of before) this.#changesById.set(id, changed)
    }
  }

  /** Records the first failure of a group with its metrics; further ones are only counted. */
  fail(group: TaskGroup, metrics: PlacementMetrics, olderVersion?: Job): void {
    this.#failures.set(group.Name, { group, metrics, olderVersion, unplacedCount: 1 })
  }

  /** Returns true, and counts the allocation, if the group has already failed. */
  coalesceFailure(group: TaskGroup, olderVersion?: Job): boolean {
    const failure = this.#failures.get(group.Name)
    if (failure === undefined) return false
    failure.unplacedCount += 1
    failure.olderVersion ??= olderVersion
    return true
  }

  /** Counts an allocation that the placement budget does not allow now as queued. */
  withhold(group: TaskGroup): void {
    this.#withheldByBudget.set(group.Name, (this.#withheldByBudget.get(group.Name) ?? 0) + 1)
  }

  setDesiredUpdates(group: string, updates: DesiredUpdates): void {
    this.#desiredUpdates.set(group, updates)
  }

  /** Sets the deployment that the plan creates or updates. */
  setDeployment(deployment: Deployment): void {
    this.#deployment = deployment
  }

  /** Adds a deployment that the plan cancels or completes. */
  endDeployment(deployment: Deployment): void {
    this.#endedDeployments.push(deployment)
  }

  /** Sets the deployment that the evaluation refers to. */
  setDeploymentId(deploymentId: string): void {
    this.#deploymentId = deploymentId
  }

  /**
   * Adds follow-up evaluations for failed allocations that may be rescheduled later, one per batch.
   */
  addRescheduleFollowUps(job: Job, delayed: readonly DelayedReschedule[]): void {
    const waiting = delayed.filter(({ row }) => !this.#hasPendingFollowUp(row))
    for (const { firstMs, rows } of batchFollowUps(waiting)) {
      const id = this.#addRescheduleEvaluation(job, firstMs)
      for (const row of rows) this.updateAttributes(row, { FollowupEvalID: id })
    }
  }

  /**
   * False if the follow-up is no longer pending: it will not reschedule the allocation, so a new
   * one is needed.
   */
  #hasPendingFollowUp({ FollowupEvalID = '' }: AllocationRow): boolean {
    return FollowupEvalID !== '' && this.#options.view.isPendingEvaluation(FollowupEvalID)
  }

  /**
   * Adds follow-ups for allocations that become unknown. Their `FollowupEvalID` is that of the
   * evaluation that marks them lost, so this one must run when the last of its batch is due.
   */
  addDisconnectFollowUps(job: Job, delayed: readonly DelayedReschedule[]): void {
    for (const { lastMs } of batchFollowUps(delayed)) this.#addRescheduleEvaluation(job, lastMs)
  }

  /**
   * Adds follow-ups for allocations that are already unknown, unless one is due at that time. The
   * earlier follow-up ran too soon if the clock was set back since.
   */
  addUnknownFollowUps(job: Job, delayed: readonly DelayedReschedule[]): void {
    for (const { lastMs } of batchFollowUps(delayed))
      if (!this.hasEvaluationDueAt(job, lastMs)) this.#addRescheduleEvaluation(job, lastMs)
  }

  /** True if another evaluation of the job is due at this time. */
  hasEvaluationDueAt({ Namespace, ID }: Job, timeMs: number): boolean {
    const currentIds = coalescedEvaluationIds(this.#options)
    const dueIds = this.#options.view.evaluationsDueAt(Namespace, ID, timeMs)
    return (
      dueIds.some((id) => !currentIds.has(id)) ||
      this.#followUps.some(({ WaitUntil }) => WaitUntil === isoFromMs(timeMs))
    )
  }

  /** Adds an evaluation of the job that runs at the given time, and returns its ID. */
  addFollowUp(job: Job, request: FollowUpRequest): string {
    const { evaluation, context } = this.#options
    const id = context.ids.uuid()
    this.#followUps.push({
      ...newEvaluation(job, {
        id,
        trigger: request.trigger,
        timeMs: context.nowMs,
        jobModifyIndex: job.JobModifyIndex,
        priority: evaluation.Priority,
      }),
      PreviousEval: evaluation.ID,
      WaitUntil: isoFromMs(request.dueMs),
      StatusDescription: request.description,
    })
    return id
  }

  #addRescheduleEvaluation(job: Job, dueMs: number): string {
    const isFirst = !this.#followUps.some((one) => one.TriggeredBy === 'alloc-reschedule')
    const trigger = isFirst ? 'alloc-reschedule' : 'alloc-failure'
    return this.addFollowUp(job, {
      trigger,
      dueMs,
      description: 'waits to replace a failed allocation',
    })
  }

  /** Builds the plan. `reason` becomes the status description of a completed evaluation. */
  build(job: Job | undefined, placer: Placer | undefined, reason = ''): Plan {
    const { evaluation, context, view } = this.#options
    const blocked =
      job === undefined || placer === undefined ? undefined : this.#blockedEvaluation(job, placer)
    const isStillBlocked = blocked !== undefined && isBlockedEvaluation(evaluation)
    const annotations = this.#annotations()
    const completed: Evaluation = {
      ...evaluation,
      Status: 'complete',
      StatusDescription: reason,
      DeploymentID: this.#deploymentId ?? evaluation.DeploymentID,
      NextEval: this.#followUps[0]?.ID ?? '',
      BlockedEval: blocked?.ID ?? '',
      FailedTGAllocs: this.#failedGroups(),
      QueuedAllocations: this.#queuedAllocations(job),
      PlanAnnotations: evaluation.AnnotatePlan ? annotations : null,
      ClassEligibility: null,
      EscapedComputedClass: false,
      SnapshotIndex: view.index,
      ModifyTime: nsFromMs(context.nowMs),
    }
    return {
      evaluation: isStillBlocked ? { ...completed, ...blockedFields(blocked) } : completed,
      placements: this.#placements,
      withheldPlacements: this.#withheld,
      stops: this.#rowsOf('stop'),
      updates: this.#rowsOf('update'),
      attributeUpdates: this.#rowsOf('note'),
      preemptions: [...this.#preemptedRows.values()],
      followUpEvaluations: [...this.#followUps, ...this.#preemptionEvaluations()],
      deployment: this.#deployment,
      deploymentUpdates: this.#endedDeployments,
      blockedEvaluation: isStillBlocked ? undefined : blocked,
      annotations,
      unplacedVersions: new Map(
        [...this.#failures].flatMap(([name, { olderVersion }]) =>
          olderVersion === undefined ? [] : [[name, olderVersion] as const],
        ),
      ),
    }
  }

  /** Builds a partial plan: the evaluation stays pending, and the next plan continues. */
  buildPartial(job: Job): Plan {
    const { evaluation } = this.#options
    const { blockedEvaluation: _blocked, ...plan } = this.build(job, undefined)
    return {
      ...plan,
      evaluation: {
        ...plan.evaluation,
        Status: 'pending',
        StatusDescription: `placed ${this.#placements.length} allocations, and goes on`,
        NextEval: evaluation.NextEval,
        FailedTGAllocs: null,
      },
      blockedEvaluation: undefined,
    }
  }

  #rowsOf(kind: ChangeKind): readonly AllocationRow[] {
    return [...this.#changesById.values()].flatMap((changed) =>
      changed.kind === kind ? [changed.row] : [],
    )
  }

  #modifyTime(): Pick<AllocationRow, 'ModifyTime'> {
    return { ModifyTime: nsFromMs(this.#options.context.nowMs) }
  }

  #annotations(): PlanAnnotations {
    for (const [group, count] of this.#preemptionCounts) {
      const updates = this.#desiredUpdates.get(group) ?? NO_UPDATES
      this.#desiredUpdates.set(group, { ...updates, Preemptions: count })
    }
    const preemptedStubs = [...this.#preemptedRows.values()].map((row) => allocationStub(row))
    return {
      DesiredTGUpdates: this.#sortedRecord(this.#desiredUpdates),
      PreemptedAllocs: preemptedStubs.length === 0 ? null : preemptedStubs,
    }
  }

  /** Evaluations for the jobs whose allocations are preempted. */
  #preemptionEvaluations(): readonly Evaluation[] {
    const { view, context, evaluation } = this.#options
    const jobs = new Map<string, Job>()
    for (const { Namespace, JobID } of this.#preemptedRows.values()) {
      const job = view.findJob(Namespace, JobID)
      if (job !== undefined) jobs.set(`${Namespace} ${JobID}`, job)
    }
    return [...jobs.values()].map((job) => ({
      ...newEvaluation(job, {
        id: context.ids.uuid(),
        trigger: 'preemption',
        timeMs: context.nowMs,
        jobModifyIndex: job.JobModifyIndex,
      }),
      PreviousEval: evaluation.ID,
    }))
  }

  /** The blocked evaluation that waits for capacity; undefined if everything was placed. */
  #blockedEvaluation(job: Job, placer: Placer): Evaluation | undefined {
    if (this.#failures.size === 0) return undefined
    const { evaluation, context, view } = this.#options
    const groups = [...this.#failures.values()].map((failure) => failure.group)
    const { escaped: hasEscapingGroup, eligible } = placer.classEligibility(groups)
    // Class eligibility was computed for the current version; an older version may fit other nodes.
    const hasOlder = [...this.#failures.values()].some(
      ({ olderVersion }) => olderVersion !== undefined,
    )
    const escaped = hasEscapingGroup || hasOlder
    return {
      ...newEvaluation(job, {
        id: isBlockedEvaluation(evaluation) ? evaluation.ID : context.ids.uuid(),
        trigger: 'queued-allocs',
        timeMs: context.nowMs,
        jobModifyIndex: job.JobModifyIndex,
        priority: evaluation.Priority,
      }),
      Status: 'blocked',
      StatusDescription: 'waits for room to place the remaining allocations',
      PreviousEval: evaluation.ID,
      FailedTGAllocs: this.#failedGroups(),
      QueuedAllocations: this.#queuedAllocations(job),
      ClassEligibility: escaped ? null : this.#sortedRecord(eligible),
      EscapedComputedClass: escaped,
      SnapshotIndex: view.index,
    }
  }

  #failedGroups(): Evaluation['FailedTGAllocs'] {
    if (this.#failures.size === 0) return null
    return this.#sortedRecord(
      new Map([...this.#failures].map(([name, failure]) => [name, failureMetrics(failure)])),
    )
  }

  /** Queued allocations by group; complete groups have zero. */
  #queuedAllocations(job: Job | undefined): Readonly<Record<string, number>> {
    const queued = new Map(
      (job?.TaskGroups ?? []).map(({ Name }) => [
        Name,
        this.#failures.get(Name)?.unplacedCount ?? 0,
      ]),
    )
    for (const { TaskGroup: group } of this.#withheld)
      queued.set(group, (queued.get(group) ?? 0) + 1)
    for (const [group, count] of this.#withheldByBudget)
      queued.set(group, (queued.get(group) ?? 0) + count)
    return this.#sortedRecord(queued)
  }

  #sortedRecord<T>(map: ReadonlyMap<string, T>): Readonly<Record<string, T>> {
    return Object.fromEntries([...map].toSorted(([a], [b]) => compareText(a, b)))
  }
}

interface FollowUpRequest {
  readonly trigger: Trigger
  readonly dueMs: number
  /** Status description: what the evaluation waits for. */
  readonly description: string
}

interface PlacementFailure {
  readonly group: TaskGroup
  readonly metrics: PlacementMetrics
  /** Version that could not be placed, if it is not the current one. */
  olderVersion: Job | undefined
  unplacedCount: number
}

function failureMetrics({ metrics, unplacedCount }: PlacementFailure): PlacementMetrics {
  const exhausted = metrics.ResourcesExhausted
  const multiply = (totals: ResourceTotals): ResourceTotals => ({
    ...totals,
    CPU: totals.CPU * unplacedCount,
    MemoryMB: totals.MemoryMB * unplacedCount,
  })
  return {
    ...metrics,
    CoalescedFailures: unplacedCount - 1,
    ResourcesExhausted:
      exhausted === null
        ? null
        : Object.fromEntries(
            Object.entries(exhausted).map(([task, totals]) => [task, multiply(totals)]),
          ),
  }
}

/** True for blocked evaluations: they keep their record as long as capacity is missing. */
function isBlockedEvaluation(evaluation: Evaluation): boolean {
  return evaluation.Status === 'blocked' || evaluation.TriggeredBy === 'queued-allocs'
}

function blockedFields(blocked: Evaluation): Partial<Evaluation> {
  return {
    Status: 'blocked',
    StatusDescription: blocked.StatusDescription,
    BlockedEval: '',
    ClassEligibility: blocked.ClassEligibility,
    EscapedComputedClass: blocked.EscapedComputedClass,
  }
}
