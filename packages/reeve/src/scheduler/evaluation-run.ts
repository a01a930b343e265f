import type { Deployment, DesiredUpdates, Evaluation, Job, TaskGroup } from '@reeve/contract'
import {
  groupStateOf,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
  placementHoldReason,
  isTerminal,
  placementPhase,
  type PlacementPhase,
} from '../model/index.ts'
import { NO_UPDATES, type PlanBuilder } from './plan-builder.ts'
import { taskLifecycles } from './resources/assign-resources.ts'
import {
  appendClientStatus,
  isUnreachable,
  lostDeadlineMs,
  nodeCondition,
  sortByNameIndex,
  STOP_DESCRIPTIONS,
} from './reconcile/allocation-state.ts'
import { stopAsLost, type Stop, type PlacementCause } from './reconcile/reconcile-result.ts'
import type { ReconcileResult } from './reconcile/reconcile-group.ts'
import type { RepairVersions } from './reconcile/job-versions.ts'
import {
  planDeployment,
  type GroupDeploymentChange,
  type DeploymentState,
} from './reconcile/deployment-state.ts'
import type { ClusterView, SchedulingContext } from './cluster-view.ts'

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

interface StopAllOptions {
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

interface UpdateInPlaceOptions {
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

/**
 * Limits how many allocations of the current version one evaluation may place. Unlimited, unless
 * nodes were lost while starting the version (decision 0061).
 */
export class PlacementBudget {
  readonly #phase: PlacementPhase
  readonly #job: Job
  #remaining: number
  #withheld = 0

  constructor(job: Job, rows: readonly AllocationRow[], nowMs: number) {
    this.#job = job
    this.#phase = placementPhase(job, nowMs)
    this.#remaining = placementLimit(this.#phase, rows)
  }

  /** Uses one placement of the budget; false if none is left. */
  tryTake(): boolean {
    if (this.#remaining > 0) {
      this.#remaining -= 1
      return true
    }
    this.#withheld += 1
    return false
  }

  /** Reason why placements were withheld; undefined if none were. */
  get withheldReason(): string | undefined {
    return this.#withheld === 0 ? undefined : placementHoldReason(this.#phase, this.#job)
  }

  /** Time at which more may be placed; undefined if nothing was withheld or no time is known. */
  get nextPlacementMs(): number | undefined {
    return this.#withheld > 0 && 'untilMs' in this.#phase ? this.#phase.untilMs : undefined
  }
}

function placementLimit(phase: PlacementPhase, rows: readonly AllocationRow[]): number {
  switch (phase.phase) {
    case 'open':
      return Infinity
    case 'quarantined':
    case 'delayed':
      return 0
    case 'probing': {
      const { CreateIndex } = phase.loss
      const hasProbe = rows.some((row) => row.CreateIndex > CreateIndex && !isTerminal(row))
      return hasProbe ? 0 : 1
    }
  }
}

/** Counts the changes to the allocations of a group by kind. */
export function desiredUpdates(changes: ReconcileResult): DesiredUpdates {
  const { placements, stops, inPlaceUpdates, rescheduleLater, ignoredCount } = changes
  const counts = new Map<PlacementCause, number>()
  for (const { cause } of placements) counts.set(cause, (counts.get(cause) ?? 0) + 1)
  const count = (...causes: readonly PlacementCause[]): number =>
    causes.reduce((sum, why) => sum + (counts.get(why) ?? 0), 0)
  const migrateCount = stops.filter((entry) => entry.reason === STOP_DESCRIPTIONS.migrating).length
  return {
    ...NO_UPDATES,
    Ignore: ignoredCount,
    Place: count('missing', 'lost', 'failed', 'stranded'),
    Migrate: migrateCount,
    Stop: stops.length - migrateCount,
    InPlaceUpdate: inPlaceUpdates.length,
    DestructiveUpdate: count('destructive'),
    Canary: count('canary'),
    Disconnect: changes.disconnecting.length,
    Reconnect: changes.reconnected.length,
    RescheduleNow: count('failed', 'stranded'),
    RescheduleLater: rescheduleLater.length + changes.disconnectReplaceLater.length,
  }
}
