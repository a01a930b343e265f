import type { Deployment, Evaluation, TaskGroup, Trigger } from '@reeve/contract'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import { isParent, type PublicNode } from '../model/index.ts'
import { type ClusterView, isSystemJob, type SchedulingContext } from './cluster-view.ts'
import {
  addBudgetFollowUp,
  applyDeployment,
  desiredUpdates,
  type EvaluationRun,
  markReconnected,
  markStoppedAsLost,
  markUnknown,
  PlacementBudget,
  PLACEMENTS_PER_SLICE,
  stopAll,
  stopFields,
  updateInPlace,
} from './evaluation-run.ts'
import { isInPoolAndDatacenters } from './feasibility/ready-nodes.ts'
import { deploymentFor, GroupPlacer } from './group-placer.ts'
import { Placer } from './placer.ts'
import { coalescedEvaluationIds, PlanBuilder } from './plan-builder.ts'
import type { Plan } from './plan.ts'
import { ProposedState } from './proposed-state.ts'
import { appendClientStatus, rowsByGroup, STOP_DESCRIPTIONS } from './reconcile/allocation-state.ts'
import { deploymentStateOf } from './reconcile/deployment-state.ts'
import { RepairVersions, UpdateClassifier } from './reconcile/job-versions.ts'
import { reconcileGroup, type ReconcileResult } from './reconcile/reconcile-group.ts'
import { reconcileSystemGroup } from './reconcile/reconcile-system-group.ts'

/**
 * Computes the plan for the job of one evaluation. Pure: the view is not changed, and equal inputs
 * give equal plans. The scheduler is chosen by the type of the job, not of the evaluation, which
 * may be older than the job with this ID.
 */
export function schedule(
  view: ClusterView,
  evaluation: Evaluation,
  context: SchedulingContext,
): Plan {
  return runToCompletion(scheduleSteps(view, evaluation, context))
}

/**
 * Like `schedule`, in steps of some microseconds, for callers that share the event loop. The view
 * must not change between the first and the last step.
 */
export function* scheduleSteps(
  view: ClusterView,
  evaluation: Evaluation,
  context: SchedulingContext,
): Steps<Plan> {
  const { Namespace: namespace, JobID: jobId } = evaluation
  const planBuilder = new PlanBuilder({ view, evaluation, context })
  const job = view.findJob(namespace, jobId)
  const rows = view.allocationsOf(namespace, jobId)
  const latest = view.latestDeployment(namespace, jobId)
  const findNode = (id: string) => view.findNode(id)
  markStoppedAsLost(rows, { planBuilder, findNode })
  if (job === undefined || job.Stop || isParent(job)) {
    stopAll(rows, { reason: STOP_DESCRIPTIONS.jobStopped, planBuilder, findNode })
    const { cancelled } = deploymentStateOf(undefined, latest, context.nowMs)
    if (cancelled !== undefined) planBuilder.endDeployment(cancelled)
    return planBuilder.build(job, undefined)
  }
  const acceptsTrigger = Object.hasOwn(TRIGGER_TESTS, job.Type)
    ? TRIGGER_TESTS[job.Type]
    : undefined
  if (acceptsTrigger === undefined)
    return failedPlan(planBuilder, evaluation, `unknown job type ${job.Type}`)
  if (!acceptsTrigger(evaluation.TriggeredBy))
    return failedPlan(planBuilder, evaluation, `unexpected trigger ${evaluation.TriggeredBy}`)
  const rollout = deploymentStateOf(job, latest, context.nowMs)
  const budget = new PlacementBudget(job, rows, context.nowMs)
  const repairVersions = new RepairVersions({
    job,
    rollout,
    rows,
    findVersions: () => view.versionsOf(namespace, jobId),
    findDeployments: () => view.deploymentsOf(namespace, jobId),
    jobVersionOf: (row) => view.jobVersionOf(row),
  })
  const run = { view, evaluation, context, job, rows, rollout, planBuilder, budget, repairVersions }
  return yield* scheduleJob(run)
}

const SYSTEM_TRIGGERS: readonly Trigger[] = [
  'job-register',
  'job-deregister',
  'node-update',
  'node-drain',
  'alloc-stop',
  'rolling-update',
  'queued-allocs',
  'preemption',
  'deployment-watcher',
  'failed-follow-up',
  'job-scaling',
  'reconnect',
  // Not in the compatible API: unknown allocations on disconnected nodes must eventually be marked
  // lost.
  'max-disconnect-timeout',
]

const TRIGGER_TESTS: Readonly<Record<string, (trigger: Trigger) => boolean>> = {
  service: (trigger) => trigger !== 'scheduled',
  batch: (trigger) => trigger !== 'scheduled',
  system: (trigger) => SYSTEM_TRIGGERS.includes(trigger),
  sysbatch: (trigger) => SYSTEM_TRIGGERS.includes(trigger) || trigger === 'periodic-job',
}

function failedPlan(planBuilder: PlanBuilder, evaluation: Evaluation, reason: string): Plan {
  const plan = planBuilder.build(undefined, undefined)
  return {
    ...plan,
    evaluation: {
      ...plan.evaluation,
      Status: 'failed',
      StatusDescription: reason,
      QueuedAllocations: evaluation.QueuedAllocations,
    },
  }
}

/**
 * Reconciles all groups, applies the changes that need no capacity, and places allocations: of a
 * service or batch job on the best nodes, of a system or sysbatch job on every feasible node.
 */
function* scheduleJob(run: EvaluationRun): Steps<Plan> {
  const { view, job, rows, planBuilder, budget } = run
  const proposed = new ProposedState(view, rows)
  const placer = new Placer({ ...run, proposed })
  const isSystem = isSystemJob(job)
  const changes = yield* isSystem ? reconcileSystemJob(run, placer) : reconcileJob(run, placer)
  const deployment = applyDeployment(
    run,
    changes.map((change) => change.deploymentChange),
  )
  stopRemovedGroups(run, proposed)
  for (const change of changes) {
    applyChanges(change, { run, proposed, deployment })
    yield
  }
  const groups = changes.map((change) => ({
    change,
    groupPlacer: new GroupPlacer({
      run,
      placer,
      proposed,
      deployment: deploymentFor(deployment, change.group),
    }),
  }))
  const isComplete = yield* isSystem ? placeOnNodes(run, groups, placer) : placeGroups(run, groups)
  if (!isComplete) return planBuilder.buildPartial(job)
  addBudgetFollowUp(run)
  return planBuilder.build(job, placer, budget.withheldReason)
}

function* reconcileJob(run: EvaluationRun, placer: Placer): Steps<readonly ReconcileResult[]> {
  const { view, job, rows, context, rollout } = run
  const updateTypes = updateClassifier(run, placer)
  const byGroup = rowsByGroup(rows)
  const evaluationIds = coalescedEvaluationIds(run)
  const changes: ReconcileResult[] = []
  for (const group of job.TaskGroups)
    changes.push(
      yield* reconcileGroup(group, byGroup.get(group.Name) ?? [], {
        job,
        nowMs: context.nowMs,
        evaluationIds,
        isPendingEvaluation: (id) => view.isPendingEvaluation(id),
        rollout,
        updateTypes,
        findNode: (id) => view.findNode(id),
        findDeployment: (id) => view.findDeployment(id),
        findRepairVersion: (name) => run.repairVersions.forMissing(name),
      }),
    )
  return changes
}

function* reconcileSystemJob(
  run: EvaluationRun,
  placer: Placer,
): Steps<readonly ReconcileResult[]> {
  const { view, job, rows, context, rollout } = run
  const updateTypes = updateClassifier(run, placer)
  const byGroup = rowsByGroup(rows)
  const changes: ReconcileResult[] = []
  for (const group of job.TaskGroups) {
    changes.push(
      reconcileSystemGroup(group, byGroup.get(group.Name) ?? [], {
        job,
        nowMs: context.nowMs,
        rollout,
        updateTypes,
        replacesTerminal: replacesTerminal(run),
        nodes: placer.readyNodes.nodes,
        findNode: (id) => view.findNode(id),
        isInPoolAndDatacenters: (node) => isInPoolAndDatacenters(node, job),
        isFeasible: (node, one) => placer.isFeasible(node, one),
        findRepairVersion: (name) => run.repairVersions.forMissing(name),
      }),
    )
    yield
  }
  return changes
}

function updateClassifier({ job, view }: EvaluationRun, placer: Placer): UpdateClassifier {
  return new UpdateClassifier({
    job,
    jobVersionOf: (row) => view.jobVersionOf(row),
    fitsInPlace: (row, group) => placer.fitsInPlace(row, group),
  })
}

/**
 * Triggers that an allocation's own exit can cause. Replacing an exited allocation for one of these
 * would restart a crashing system job in a tight loop.
 */
const SELF_CAUSED_TRIGGERS: readonly Trigger[] = ['queued-allocs', 'deployment-watcher']

function replacesTerminal({ evaluation, context }: EvaluationRun): boolean {
  const causes = [evaluation, ...(context.coalescedEvaluations ?? [])]
  return causes.some(({ TriggeredBy }) => !SELF_CAUSED_TRIGGERS.includes(TriggeredBy))
}

/** Stops allocations of groups that the job no longer has. */
function stopRemovedGroups(
  { view, job, rows, planBuilder }: EvaluationRun,
  proposed: ProposedState,
): void {
  const groups = new Set(job.TaskGroups.map((group) => group.Name))
  const rowsOfRemovedGroups = rows.filter((row) => !groups.has(row.TaskGroup))
  const findNode = (id: string): PublicNode | undefined => view.findNode(id)
  for (const row of stopAll(rowsOfRemovedGroups, {
    reason: STOP_DESCRIPTIONS.notNeeded,
    planBuilder,
    findNode,
  }))
    proposed.stop(row)
}

interface ApplyContext {
  readonly run: EvaluationRun
  readonly proposed: ProposedState
  readonly deployment: Deployment | undefined
}

/** Applies all changes that need no capacity: stops, in-place updates and follow-ups. */
function applyChanges(changes: ReconcileResult, { run, proposed, deployment }: ApplyContext): void {
  const { job, planBuilder } = run
  const { group } = changes
  for (const { row, ...stop } of changes.stops) {
    proposed.stop(row)
    planBuilder.stop(row, stopFields(stop))
  }
  delayLostReplacements(changes, run)
  for (const row of changes.inPlaceUpdates) updateInPlace(row, run, { group, deployment })
  planBuilder.addRescheduleFollowUps(job, changes.rescheduleLater)
  markUnknown(changes.disconnecting, group, run)
  planBuilder.addDisconnectFollowUps(job, changes.disconnectReplaceLater)
  planBuilder.addUnknownFollowUps(job, changes.unknownReplaceLater)
  markReconnected(changes.reconnected, run)
  planBuilder.setDesiredUpdates(group.Name, desiredUpdates(changes))
}

/** Delays the replacement of lost allocations until disconnected agents have stopped them. */
function delayLostReplacements(
  { stops, lostReplaceAtMs }: ReconcileResult,
  { job, context, planBuilder }: EvaluationRun,
): void {
  if (lostReplaceAtMs === undefined) return
  const followUpId = planBuilder.addFollowUp(job, {
    trigger: 'alloc-failure',
    dueMs: lostReplaceAtMs,
    description: 'waits until a disconnected node has stopped its allocations',
  })
  for (const { row, nodeCondition } of stops)
    if (nodeCondition !== undefined)
      planBuilder.stop(row, {
        FollowupEvalID: followUpId,
        ...appendClientStatus(row, 'lost', context.nowMs),
      })
}

interface ReconciledGroup {
  readonly change: ReconcileResult
  readonly groupPlacer: GroupPlacer
}

/**
 * Places the allocations of a service or batch job. Returns false if the limit of placements per
 * plan was reached first.
 */
function* placeGroups(run: EvaluationRun, groups: readonly ReconciledGroup[]): Steps<boolean> {
  const { job, planBuilder } = run
  const { placementsMax = Infinity } = run.context
  let attemptCount = 0
  let isComplete = true
  const rollback = job.AllAtOnce ? planBuilder.beginPlacements() : undefined
  // Destructive updates go first: they may need the resources that they free.
  for (const isDestructivePass of [true, false])
    for (const { change, groupPlacer } of groups)
      for (const placement of change.placements) {
        if ((placement.cause === 'destructive') !== isDestructivePass) continue
        if (planBuilder.placementCount >= placementsMax && !job.AllAtOnce) {
          isComplete = false
          groupPlacer.withhold(change.group, placement)
        } else groupPlacer.place(change.group, placement)
        if (++attemptCount % PLACEMENTS_PER_SLICE === 0) yield
      }
  // With `all_at_once`, a failure rolls back all placements.
  if (rollback !== undefined && planBuilder.hasFailedPlacements) {
    rollback()
    for (const { change, groupPlacer } of groups)
      groupPlacer.recordFailedReschedule(change.placements)
  }
  return isComplete
}

/** Like `placeGroups`, for a system or sysbatch job, whose placements name their nodes. */
function* placeOnNodes(
  run: EvaluationRun,
  groups: readonly ReconciledGroup[],
  placer: Placer,
): Steps<boolean> {
  const { planBuilder } = run
  const { placementsMax = Infinity } = run.context
  let attemptCount = 0
  let isComplete = true
  for (const { change, groupPlacer } of groups) {
    for (const placement of change.placements) {
      if (planBuilder.placementCount >= placementsMax) {
        isComplete = false
        groupPlacer.withhold(change.group, placement)
      } else groupPlacer.placeOnNode(change.group, placement)
      if (++attemptCount % PLACEMENTS_PER_SLICE === 0) yield
    }
    if (hasNoFeasibleNode(change, placer)) reportNoFeasibleNode(change.group, run, placer)
  }
  return isComplete
}

/** Infeasible nodes are not reported, unless no node is feasible. */
function hasNoFeasibleNode(
  { group, placements, ignoredCount, inPlaceUpdates }: ReconcileResult,
  placer: Placer,
): boolean {
  if (group.Count === 0 || placements.length + ignoredCount + inPlaceUpdates.length > 0)
    return false
  return !placer.readyNodes.nodes.some((node) => placer.isFeasible(node, group))
}

function reportNoFeasibleNode(
  group: TaskGroup,
  { planBuilder }: EvaluationRun,
  placer: Placer,
): void {
  const result = placer.place({ group, index: 0 })
  if (!result.ok) planBuilder.fail(group, result.metrics)
}
