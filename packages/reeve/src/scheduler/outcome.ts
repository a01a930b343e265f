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
import { batchFollowUps } from './follow-ups.ts'
import type { Plan } from './plan.ts'
import type { Placer } from './placer.ts'
import type { Deferred } from './reconcile/classify.ts'
import { REASONS } from './reconcile/reasons.ts'
import type { ClusterView, SchedulingContext } from './view.ts'

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

/** The evaluations that a run carries out: what waits for one of them has its turn. */
export function evaluationIdsOf({
  evaluation,
  context,
}: Pick<OutcomeOptions, 'evaluation' | 'context'>): ReadonlySet<string> {
  return new Set([evaluation, ...(context.settles ?? [])].map(({ ID }) => ID))
}

/** How an existing allocation changes; the first of these that applies names it. */
const KINDS = ['stop', 'update', 'note'] as const
type Kind = (typeof KINDS)[number]

interface Changed {
  readonly kind: Kind
  readonly row: AllocationRow
}

/** Gathers what one evaluation decides, and makes the plan of it. */
export class Outcome {
  readonly #options: OutcomeOptions
  /** One entry for each allocation, so that no change of it overwrites another. */
  readonly #changed = new Map<string, Changed>()
  readonly #placements: AllocationRow[] = []
  readonly #victims = new Map<string, AllocationRow>()
  readonly #preempting = new Map<string, number>()
  readonly #withheld: AllocationRow[] = []
  readonly #heldBack = new Map<string, number>()
  readonly #followUps: Evaluation[] = []
  readonly #failures = new Map<string, Failure>()
  readonly #desired = new Map<string, DesiredUpdates>()
  readonly #ended: Deployment[] = []
  #deployment: Deployment | undefined
  #deploymentId: string | undefined

  constructor(options: OutcomeOptions) {
    this.#options = options
  }

  /** Ends an allocation; a second call for the same one adds to the first. */
  stop(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#change('stop', row, { DesiredStatus: 'stop', ...change })
  }

  update(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#change('update', row, change)
  }

  note(row: AllocationRow, change: Partial<AllocationRow>): void {
    this.#change('note', row, change)
  }

  #change(kind: Kind, row: AllocationRow, change: Partial<AllocationRow>): void {
    const before = this.#changed.get(row.ID)
    const strongest = KINDS.find((one) => one === kind || one === before?.kind) ?? kind
    const next = { ...(before?.row ?? row), ...change, ...this.#written() }
    this.#changed.set(row.ID, { kind: strongest, row: next })
  }

  /** A new allocation, and those of other jobs that make room for it. */
  place(row: AllocationRow, victims: readonly AllocationRow[] = []): void {
    this.#placements.push(row)
    for (const victim of victims)
      this.#victims.set(victim.ID, {
        ...victim,
        DesiredStatus: 'evict',
        DesiredDescription: REASONS.preempted(row.ID),
        PreemptedByAllocation: row.ID,
        ...this.#written(),
      })
    const { TaskGroup: group } = row
    if (victims.length > 0)
      this.#preempting.set(group, (this.#preempting.get(group) ?? 0) + victims.length)
  }

  get placementCount(): number {
    return this.#placements.length
  }

  get hasFailed(): boolean {
    return this.#failures.size > 0
  }

  /**
   * From here on things are placed. Calling what is returned takes all of it back: who was placed,
   * who would have ended for it, and who would have been displaced. What found no room stays told;
   * what would have found some counts as waiting.
   */
  begin(): () => void {
    const before = new Map(this.#changed)
    return () => {
      for (const row of this.#placements.splice(0)) this.#withheld.push(row)
      this.#victims.clear()
      this.#preempting.clear()
      this.#changed.clear()
      for (const [id, changed] of before) this.#changed.set(id, changed)
    }
  }

  /** The first failure of a group is explained; the others are counted. */
  fail(group: TaskGroup, metrics: PlacementMetrics, older?: Job): void {
    this.#failures.set(group.Name, { group, metrics, older, unplaced: 1 })
  }

  /** Whether the group has failed already; if so, this instance is counted with it. */
  coalesce(group: TaskGroup, older?: Job): boolean {
    const failure = this.#failures.get(group.Name)
    if (failure === undefined) return false
    failure.unplaced += 1
    failure.older ??= older
    return true
  }

  /** An instance that the job's budget does not allow now: it counts as waiting. */
  withhold(group: TaskGroup): void {
    this.#heldBack.set(group.Name, (this.#heldBack.get(group.Name) ?? 0) + 1)
  }

  desire(group: string, updates: DesiredUpdates): void {
    this.#desired.set(group, updates)
  }

  /** The deployment that the plan makes or changes. */
  deploy(deployment: Deployment): void {
    this.#deployment = deployment
  }

  /** A deployment that the plan cancels or completes. */
  endDeployment(deployment: Deployment): void {
    this.#ended.push(deployment)
  }

  /** The deployment that the evaluation was about. */
  concern(deploymentId: string): void {
    this.#deploymentId = deploymentId
  }

  /**
   * Failed allocations that may be replaced later: one evaluation for those that are due together.
   */
  defer(job: Job, deferred: readonly Deferred[]): void {
    const waiting = deferred.filter(({ row }) => !this.#hasFollowUp(row))
    for (const { firstMs, rows } of batchFollowUps(waiting)) {
      const id = this.#reschedule(job, firstMs)
      for (const row of rows) this.note(row, { FollowupEvalID: id })
    }
  }

  /**
   * One that is over was carried out when there was no room, or given up when its node came back:
   * nobody else would ask for the allocation when its time has come.
   */
  #hasFollowUp({ FollowupEvalID = '' }: AllocationRow): boolean {
    return FollowupEvalID !== '' && this.#options.view.isToCome(FollowupEvalID)
  }

  /**
   * The same for allocations that become unknown: what they remember is the follow-up that gives
   * them up, so this one must come when the last of its batch is due.
   */
  deferStranded(job: Job, deferred: readonly Deferred[]): void {
    for (const { lastMs } of batchFollowUps(deferred)) this.#reschedule(job, lastMs)
  }

  /**
   * The same for allocations that are unknown already. Their follow-up was made when they became
   * so; by a clock that was set back since, it came before they were due.
   */
  deferUnknown(job: Job, deferred: readonly Deferred[]): void {
    for (const { lastMs } of batchFollowUps(deferred))
      if (!this.isAwaited(job, lastMs)) this.#reschedule(job, lastMs)
  }

  /** Whether an evaluation of the job, apart from those carried out now, waits for this time. */
  isAwaited({ Namespace, ID }: Job, timeMs: number): boolean {
    const carriedOut = evaluationIdsOf(this.#options)
    const waiting = this.#options.view.evaluationsDueAt(Namespace, ID, timeMs)
    return (
      waiting.some((id) => !carriedOut.has(id)) ||
      this.#followUps.some(({ WaitUntil }) => WaitUntil === isoFromMs(timeMs))
    )
  }

  /** An evaluation of the job at its time; its ID. */
  followUp(job: Job, request: FollowUpRequest): string {
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
      StatusDescription: request.text,
    })
    return id
  }

  #reschedule(job: Job, dueMs: number): string {
    const isFirst = !this.#followUps.some((one) => one.TriggeredBy === 'alloc-reschedule')
    const trigger = isFirst ? 'alloc-reschedule' : 'alloc-failure'
    return this.followUp(job, { trigger, dueMs, text: 'waits to replace a failed allocation' })
  }

  /** `reason` is what the evaluation says of itself; an evaluation that waits says what for. */
  finish(job: Job | undefined, placer: Placer | undefined, reason = ''): Plan {
    const { evaluation, context, view } = this.#options
    const blocked = job === undefined || placer === undefined ? undefined : this.#block(job, placer)
    const reblocked = blocked !== undefined && isBlockedRun(evaluation)
    const annotations = this.#annotations()
    const done: Evaluation = {
      ...evaluation,
      Status: 'complete',
      StatusDescription: reason,
      DeploymentID: this.#deploymentId ?? evaluation.DeploymentID,
      NextEval: this.#followUps[0]?.ID ?? '',
      BlockedEval: blocked?.ID ?? '',
      FailedTGAllocs: this.#failedGroups(),
      QueuedAllocations: this.#queued(job),
      PlanAnnotations: evaluation.AnnotatePlan ? annotations : null,
      ClassEligibility: null,
      EscapedComputedClass: false,
      SnapshotIndex: view.index,
      ModifyTime: nsFromMs(context.nowMs),
    }
    return {
      evaluation: reblocked ? { ...done, ...waitingAgain(blocked) } : done,
      placements: this.#placements,
      withheld: this.#withheld,
      stops: this.#rowsOf('stop'),
      updates: this.#rowsOf('update'),
      notes: this.#rowsOf('note'),
      victims: [...this.#victims.values()],
      followUps: [...this.#followUps, ...this.#displacedJobs()],
      deployment: this.#deployment,
      deploymentUpdates: this.#ended,
      blocked: reblocked ? undefined : blocked,
      annotations,
      unplacedVersions: new Map(
        [...this.#failures].flatMap(([name, { older }]) =>
          older === undefined ? [] : [[name, older] as const],
        ),
      ),
    }
  }

  /** The plan is partial: the evaluation stays pending, and the next plan goes on with the rest. */
  pause(job: Job): Plan {
    const { evaluation } = this.#options
    const { blocked: _blocked, ...plan } = this.finish(job, undefined)
    return {
      ...plan,
      evaluation: {
        ...plan.evaluation,
        Status: 'pending',
        StatusDescription: `placed ${this.#placements.length} allocations, and goes on`,
        NextEval: evaluation.NextEval,
        FailedTGAllocs: null,
      },
      blocked: undefined,
    }
  }

  #rowsOf(kind: Kind): readonly AllocationRow[] {
    return [...this.#changed.values()].flatMap((changed) =>
      changed.kind === kind ? [changed.row] : [],
    )
  }

  #written(): Pick<AllocationRow, 'ModifyTime'> {
    return { ModifyTime: nsFromMs(this.#options.context.nowMs) }
  }

  #annotations(): PlanAnnotations {
    for (const [group, count] of this.#preempting) {
      const updates = this.#desired.get(group) ?? NO_UPDATES
      this.#desired.set(group, { ...updates, Preemptions: count })
    }
    const displaced = [...this.#victims.values()].map((row) => allocationStub(row))
    return {
      DesiredTGUpdates: this.#sorted(this.#desired),
      PreemptedAllocs: displaced.length === 0 ? null : displaced,
    }
  }

  /** Each job that lost something is looked at again. */
  #displacedJobs(): readonly Evaluation[] {
    const { view, context, evaluation } = this.#options
    const jobs = new Map<string, Job>()
    for (const { Namespace, JobID } of this.#victims.values()) {
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

  /** The evaluation that waits for room; undefined when none is missing. */
  #block(job: Job, placer: Placer): Evaluation | undefined {
    if (this.#failures.size === 0) return undefined
    const { evaluation, context, view } = this.#options
    const groups = [...this.#failures.values()].map((failure) => failure.group)
    const { escaped: escapesClasses, eligible } = placer.classesOf(groups)
    // The classes were asked for the job's own version, which may fit other nodes.
    const hasOlder = [...this.#failures.values()].some(({ older }) => older !== undefined)
    const escaped = escapesClasses || hasOlder
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
    const queued = new Map(
      (job?.TaskGroups ?? []).map(({ Name }) => [Name, this.#failures.get(Name)?.unplaced ?? 0]),
    )
    for (const { TaskGroup: group } of this.#withheld)
      queued.set(group, (queued.get(group) ?? 0) + 1)
    for (const [group, count] of this.#heldBack) queued.set(group, (queued.get(group) ?? 0) + count)
    return this.#sorted(queued)
  }

  #sorted<T>(map: ReadonlyMap<string, T>): Readonly<Record<string, T>> {
    return Object.fromEntries([...map].toSorted(([a], [b]) => compareText(a, b)))
  }
}

export interface FollowUpRequest {
  readonly trigger: Trigger
  readonly dueMs: number
  /** Its `StatusDescription`: what it waits for. */
  readonly text: string
}

interface Failure {
  readonly group: TaskGroup
  readonly metrics: PlacementMetrics
  /** The version that found no node, unless it is the job's own. */
  older: Job | undefined
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
