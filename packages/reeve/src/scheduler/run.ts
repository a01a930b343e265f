import type { Deployment, Evaluation, Job, TaskGroup } from '@reeve/contract'
import {
  groupStateOf,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
} from '../model/index.ts'
import { NO_UPDATES, type PlanBuilder } from './outcome.ts'
import type { PlacementBudget } from './placement-budget.ts'
import { taskLifecycles } from './rank/assign.ts'
import { lostDeadlineMs } from './reconcile/disconnect.ts'
import { isUnreachable } from './reconcile/gone.ts'
import { stopAsLost, type Stop } from './reconcile/placement.ts'
import { nodeCondition, STOP_DESCRIPTIONS } from './reconcile/reasons.ts'
import type { RepairVersions } from './reconcile/repair-versions.ts'
import {
  planDeployment,
  type GroupDeploymentChange,
  type DeploymentState,
} from './reconcile/rollout.ts'
import { sortByNameIndex } from './reconcile/row-order.ts'
import { appendClientStatus } from './reconcile/state-history.ts'
import type { ClusterView, SchedulingContext } from './view.ts'

/** Placements per step: a yield costs a fifteenth of a placement. */
export const PLACEMENTS_PER_SLICE = 4

/** Shared inputs of one run of the service and system schedulers. */
export interface EvaluationRun {
  readonly view: ClusterView
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
  readonly job: Job
  /** All allocations with the ID of the job. */
  readonly rows: readonly AllocationRow[]
  readonly rollout: DeploymentState
  readonly planBuilder: PlanBuilder
  /** Limits the placements of the current version. */
  readonly budget: PlacementBudget
  /** Versions of replacements while the current version is not deployed. */
  readonly repairVersions: RepairVersions
}

/**
 * Adds an evaluation for withheld placements. Existing ones may come too early: if the clock was
 * set back, or after a second loss with a longer delay.
 */
export function addBudgetFollowUp({ job, budget, planBuilder }: EvaluationRun): void {
  const { nextPlacementMs, withheldReason } = budget
  if (
    nextPlacementMs === undefined ||
    withheldReason === undefined ||
    planBuilder.hasEvaluationDueAt(job, nextPlacementMs)
  )
    return
  planBuilder.addFollowUp(job, {
    trigger: 'node-update',
    dueMs: nextPlacementMs,
    description: withheldReason,
  })
}

/**
 * Fields of a stopped allocation. For one that is lost with its node, the servers also set the
 * client status.
 */
export function stopFields({
  reason,
  nodeCondition: lost,
}: Omit<Stop, 'row'>): Partial<AllocationRow> {
  return { DesiredDescription: reason, ...(lost === undefined ? {} : lostFields(lost)) }
}

/** Client status of a lost allocation, which overrides the last report of its node. */
function lostFields(condition: string): Partial<AllocationRow> {
  return { ClientStatus: 'lost', ClientDescription: nodeDescription(condition) }
}

function nodeDescription(condition: string): string {
  return `Node ${condition}`
}

export interface StopAllOptions {
  readonly reason: string
  readonly planBuilder: PlanBuilder
  readonly findNode: (id: string) => PublicNode | undefined
}

/**
 * Stops all non-terminal allocations: their job is stopped or purged, or no longer has the group.
 */
export function stopAll(
  rows: readonly AllocationRow[],
  { reason, planBuilder, findNode }: StopAllOptions,
): readonly AllocationRow[] {
  const nonTerminal = rows.filter((row) => !isServerTerminal(row) && !isClientTerminal(row))
  const counts = new Map<string, number>()
  for (const row of sortByNameIndex(nonTerminal)) {
    const node = findNode(row.NodeID)
    planBuilder.stop(row, stopFields(isUnreachable(node) ? stopAsLost(row, node) : { reason }))
    counts.set(row.TaskGroup, (counts.get(row.TaskGroup) ?? 0) + 1)
  }
  for (const [group, count] of counts)
    planBuilder.setDesiredUpdates(group, { ...NO_UPDATES, Stop: count })
  return nonTerminal
}

/**
 * Marks allocations that were stopping on a lost node as lost: the node will not report them any
 * more.
 */
export function markStoppedAsLost(
  rows: readonly AllocationRow[],
  { planBuilder, findNode }: Omit<StopAllOptions, 'reason'>,
): void {
  const stopping = rows.filter((row) => isServerTerminal(row) && !isClientTerminal(row))
  for (const row of sortByNameIndex(stopping)) {
    const node = findNode(row.NodeID)
    if (node === undefined || node.Status === 'down')
      planBuilder.updateAttributes(row, lostFields(nodeCondition(node)))
  }
}

/** Applies the deployment decision, and returns the deployment of the allocations of this plan. */
export function applyDeployment(
  run: EvaluationRun,
  groups: readonly GroupDeploymentChange[],
): Deployment | undefined {
  const { rollout, job, context, evaluation, planBuilder } = run
  const decision = planDeployment(rollout, groups, {
    job,
    ids: context.ids,
    nowMs: context.nowMs,
    priority: evaluation.Priority,
  })
  if (rollout.cancelled !== undefined) planBuilder.endDeployment(rollout.cancelled)
  if (decision.ended !== undefined) planBuilder.endDeployment(decision.ended)
  if (decision.written !== undefined) planBuilder.setDeployment(decision.written)
  const deployment = decision.active ?? decision.ended
  if (deployment !== undefined) planBuilder.setDeploymentId(deployment.ID)
  return decision.active
}

export interface UpdateInPlaceOptions {
  readonly group: TaskGroup
  readonly deployment: Deployment | undefined
}

/** Updates the job version of an allocation; a new deployment resets its health. */
export function updateInPlace(
  row: AllocationRow,
  { job, evaluation, planBuilder }: EvaluationRun,
  { group, deployment }: UpdateInPlaceOptions,
): void {
  const joinsDeployment =
    groupStateOf(deployment, group.Name) !== undefined && row.DeploymentID !== deployment?.ID
  planBuilder.update(row, {
    JobVersion: job.Version,
    EvalID: evaluation.ID,
    AllocatedResources: { ...row.AllocatedResources, TaskLifecycles: taskLifecycles(group) },
    ...(joinsDeployment ? { DeploymentID: deployment?.ID, DeploymentStatus: undefined } : {}),
  })
}

/**
 * Marks allocations on a disconnected node as unknown, until it reconnects or a follow-up marks
 * them lost.
 */
export function markUnknown(
  rows: readonly AllocationRow[],
  group: TaskGroup,
  { view, job, context, planBuilder }: EvaluationRun,
): void {
  if (rows.length === 0) return
  const { nowMs } = context
  const dueMs = lostDeadlineMs(group, nowMs)
  const followUpId =
    dueMs === undefined
      ? undefined
      : planBuilder.addFollowUp(job, {
          trigger: 'max-disconnect-timeout',
          dueMs,
          description: 'waits for a disconnected node to come back',
        })
  for (const row of rows) {
    const condition = nodeCondition(view.findNode(row.NodeID))
    planBuilder.update(row, {
      ClientStatus: 'unknown',
      ClientDescription: nodeDescription(condition),
      DesiredDescription: STOP_DESCRIPTIONS.unknown(condition),
      ...appendClientStatus(row, 'unknown', nowMs),
      ...(followUpId === undefined ? {} : { FollowupEvalID: followUpId }),
    })
  }
}

/** Clears the disconnect fields of reconnected allocations; the state history is kept. */
export function markReconnected(
  rows: readonly AllocationRow[],
  { context, planBuilder }: EvaluationRun,
): void {
  for (const row of rows)
    planBuilder.update(row, {
      DesiredDescription: undefined,
      NextAllocation: undefined,
      FollowupEvalID: undefined,
      ...appendClientStatus(row, row.ClientStatus, context.nowMs),
    })
}
