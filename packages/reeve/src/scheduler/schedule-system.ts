import type { Deployment, TaskGroup, Trigger } from '@reeve/contract'
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
import { isInPoolAndDatacenters } from './feasibility/ready-nodes.ts'
import { deploymentFor, GroupPlacer } from './group-placer.ts'
import { Placer } from './placer.ts'
import type { Plan } from './plan.ts'
import { ProposedState } from './proposed-state.ts'
import { rowsByGroup, STOP_DESCRIPTIONS } from './reconcile/allocation-state.ts'
import { reconcileSystemGroup } from './reconcile/reconcile-system-group.ts'
import type { ReconcileResult } from './reconcile/reconcile-group.ts'
import { UpdateClassifier } from './reconcile/job-versions.ts'

/** Schedules a system or sysbatch job: each group on every feasible node. */
export function* scheduleSystem(run: EvaluationRun): Steps<Plan> {
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
  const { placementsMax = Infinity } = run.context
  let attemptCount = 0
  let isPartial = false
  for (const change of changes) {
    const { group } = change
    const groupPlacer = new GroupPlacer({
      run,
      placer,
      proposed,
      deployment: deploymentFor(deployment, group),
    })
    for (const placement of change.placements) {
      if (planBuilder.placementCount >= placementsMax) {
        isPartial = true
        groupPlacer.withhold(group, placement)
      } else groupPlacer.placeOnNode(group, placement)
      if (++attemptCount % PLACEMENTS_PER_SLICE === 0) yield
    }
    if (hasNoFeasibleNode(change, placer)) reportNoFeasibleNode(group, run, placer)
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

function applyChanges(changes: ReconcileResult, { run, proposed, deployment }: ApplyContext): void {
  const { group } = changes
  for (const { row, ...stop } of changes.stops) {
    proposed.stop(row)
    run.planBuilder.stop(row, stopFields(stop))
  }
  for (const row of changes.inPlaceUpdates) updateInPlace(row, run, { group, deployment })
  markUnknown(changes.disconnecting, group, run)
  markReconnected(changes.reconnected, run)
  run.planBuilder.setDesiredUpdates(group.Name, desiredUpdates(changes))
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
