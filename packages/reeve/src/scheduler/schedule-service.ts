import type { Deployment } from '@reeve/contract'
import type { Steps } from '@reeve/kit/slices.ts'
import type { PublicNode } from '../model/index.ts'
import {
  addBudgetFollowUp,
  applyDeployment,
  desiredUpdates,
  type EvaluationRun,
  markReconnected,
  markUnknown,
  PLACEMENTS_PER_SLICE,
  stopAll,
  stopFields,
  updateInPlace,
} from './evaluation-run.ts'
import { deploymentFor, GroupPlacer } from './group-placer.ts'
import { coalescedEvaluationIds } from './plan-builder.ts'
import { Placer } from './placer.ts'
import type { Plan } from './plan.ts'
import { ProposedState } from './proposed-state.ts'
import { appendClientStatus, rowsByGroup, STOP_DESCRIPTIONS } from './reconcile/allocation-state.ts'
import { reconcileGroup, type ReconcileResult } from './reconcile/reconcile-group.ts'
import { UpdateClassifier } from './reconcile/job-versions.ts'

/** Schedules a service or batch job: `count` allocations of each group on the best nodes. */
export function* scheduleService(run: EvaluationRun): Steps<Plan> {
  const { view, job, rows, planBuilder, budget } = run
  const proposed = new ProposedState(view, rows)
  const placer = new Placer({ ...run, proposed })
  const changes = yield* reconcileJob(run, placer)
  const deployment = applyDeployment(
    run,
    changes.map((change) => change.deploymentChange),
  )
  stopRemovedGroups(run, proposed)
  for (const change of changes) {
    applyChanges(change, { run, proposed, deployment })
    yield
  }
  const groupPlacers = changes.map((change) => ({
    change,
    placing: new GroupPlacer({
      run,
      placer,
      proposed,
      deployment: deploymentFor(deployment, change.group),
    }),
  }))
  const { placementsMax = Infinity } = run.context
  let attemptCount = 0
  let isPartial = false
  const rollback = job.AllAtOnce ? planBuilder.beginPlacements() : undefined
  // Destructive updates go first: they may need the resources that they free.
  for (const isDestructivePass of [true, false])
    for (const { change, placing: groupPlacer } of groupPlacers)
      for (const placement of change.placements) {
        if ((placement.cause === 'destructive') !== isDestructivePass) continue
        if (planBuilder.placementCount >= placementsMax && !job.AllAtOnce) {
          isPartial = true
          groupPlacer.withhold(change.group, placement)
        } else groupPlacer.place(change.group, placement)
        if (++attemptCount % PLACEMENTS_PER_SLICE === 0) yield
      }
  // With `all_at_once`, a failure rolls back all placements.
  if (rollback !== undefined && planBuilder.hasFailedPlacements) {
    rollback()
    for (const { change, placing: groupPlacer } of groupPlacers)
      groupPlacer.recordFailedReschedule(change.placements)
  }
  if (isPartial) return planBuilder.buildPartial(job)
  addBudgetFollowUp(run)
  return planBuilder.build(job, placer, budget.withheldReason)
}

function* reconcileJob(run: EvaluationRun, placer: Placer): Steps<readonly ReconcileResult[]> {
  const { view, job, rows, context, rollout } = run
  const updateTypes = new UpdateClassifier({
    job,
    jobVersionOf: (row) => view.jobVersionOf(row),
    fitsInPlace: (row, group) => placer.fitsInPlace(row, group),
  })
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
