import type { Deployment, Evaluation, Job, TaskGroup } from '@reeve/contract'
import {
  groupStateOf,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
} from '../model/index.ts'
import { NO_UPDATES, type Outcome } from './outcome.ts'
import type { PlacementBudget } from './placement-budget.ts'
import { taskLifecycles } from './rank/assign.ts'
import { lostAtMs } from './reconcile/disconnect.ts'
import { isGone } from './reconcile/gone.ts'
import { lostStop, type Stop } from './reconcile/placement.ts'
import { fateOf, REASONS } from './reconcile/reasons.ts'
import type { RepairVersions } from './reconcile/repair-versions.ts'
import { decideDeployment, type GroupRollout, type Rollout } from './reconcile/rollout.ts'
import { sortByName } from './reconcile/row-order.ts'
import { withStatus } from './reconcile/state-history.ts'
import type { ClusterView, SchedulingContext } from './view.ts'

/** Placements in one step: an interruption costs a fifteenth of a placement. */
export const PLACEMENTS_PER_STEP = 4

/** What the ways of scheduling have in common. */
export interface Run {
  readonly view: ClusterView
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
  readonly job: Job
  /** Every allocation of the job's ID. */
  readonly rows: readonly AllocationRow[]
  readonly rollout: Rollout
  readonly outcome: Outcome
  /** How many allocations of the job's version may be placed. */
  readonly budget: PlacementBudget
  /** What replacements run while the job's version is not rolled out. */
  readonly repair: RepairVersions
}

/**
 * What the budget withholds is placed by a later evaluation. Those that were made when the node was
 * lost may have come too early: by a clock that was set back and not yet compared, or after a
 * second loss with a longer delay.
 */
export function awaitBudget({ job, budget, outcome }: Run): void {
  const { nextMs, reason } = budget
  if (nextMs === undefined || reason === undefined || outcome.isAwaited(job, nextMs)) return
  outcome.followUp(job, { trigger: 'node-update', dueMs: nextMs, text: reason })
}

/**
 * What a stop writes into an allocation. The end of one that is lost with its node nobody else can
 * report.
 */
export function stopped({ reason, lost }: Omit<Stop, 'row'>): Partial<AllocationRow> {
  return { DesiredDescription: reason, ...(lost === undefined ? {} : lostWith(lost)) }
}

/** What its node said last does not hold any more. */
function lostWith(fate: string): Partial<AllocationRow> {
  return { ClientStatus: 'lost', ClientDescription: nodeText(fate) }
}

function nodeText(fate: string): string {
  return `Node ${fate}`
}

export interface StopAllOptions {
  readonly reason: string
  readonly outcome: Outcome
  readonly findNode: (id: string) => PublicNode | undefined
}

/** Ends whatever has not ended: its job is stopped or gone, or no longer has the group. */
export function stopAll(
  rows: readonly AllocationRow[],
  { reason, outcome, findNode }: StopAllOptions,
): readonly AllocationRow[] {
  const live = rows.filter((row) => !isServerTerminal(row) && !isClientTerminal(row))
  const counts = new Map<string, number>()
  for (const row of sortByName(live)) {
    const node = findNode(row.NodeID)
    outcome.stop(row, stopped(isGone(node) ? lostStop(row, node) : { reason }))
    counts.set(row.TaskGroup, (counts.get(row.TaskGroup) ?? 0) + 1)
  }
  for (const [group, count] of counts) outcome.desire(group, { ...NO_UPDATES, Stop: count })
  return live
}

/**
 * Marks allocations that were stopping on a lost node as lost: the node will never report their
 * end, and they would count as running forever.
 */
export function loseStopped(
  rows: readonly AllocationRow[],
  { outcome, findNode }: Omit<StopAllOptions, 'reason'>,
): void {
  const leaving = rows.filter((row) => isServerTerminal(row) && !isClientTerminal(row))
  for (const row of sortByName(leaving)) {
    const node = findNode(row.NodeID)
    if (node === undefined || node.Status === 'down') outcome.note(row, lostWith(fateOf(node)))
  }
}

/**
 * Writes what becomes of the job's deployment, and answers with the one that allocations of this
 * plan belong to.
 */
export function rollOut(run: Run, groups: readonly GroupRollout[]): Deployment | undefined {
  const { rollout, job, context, evaluation, outcome } = run
  const decision = decideDeployment(rollout, groups, {
    job,
    ids: context.ids,
    nowMs: context.nowMs,
    priority: evaluation.Priority,
  })
  if (rollout.cancelled !== undefined) outcome.endDeployment(rollout.cancelled)
  if (decision.ended !== undefined) outcome.endDeployment(decision.ended)
  if (decision.written !== undefined) outcome.deploy(decision.written)
  const concerned = decision.active ?? decision.ended
  if (concerned !== undefined) outcome.concern(concerned.ID)
  return decision.active
}

export interface UpdateInPlaceOptions {
  readonly group: TaskGroup
  readonly deployment: Deployment | undefined
}

/** All but its job stays; health is asked anew by a new deployment. */
export function updateInPlace(
  row: AllocationRow,
  { job, evaluation, outcome }: Run,
  { group, deployment }: UpdateInPlaceOptions,
): void {
  const joins =
    groupStateOf(deployment, group.Name) !== undefined && row.DeploymentID !== deployment?.ID
  outcome.update(row, {
    JobVersion: job.Version,
    EvalID: evaluation.ID,
    AllocatedResources: { ...row.AllocatedResources, TaskLifecycles: taskLifecycles(group) },
    ...(joins ? { DeploymentID: deployment?.ID, DeploymentStatus: undefined } : {}),
  })
}

/** Their node is silent: they are unknown until it speaks, or until a follow-up gives them up. */
export function markUnknown(
  rows: readonly AllocationRow[],
  group: TaskGroup,
  { view, job, context, outcome }: Run,
): void {
  if (rows.length === 0) return
  const { nowMs } = context
  const dueMs = lostAtMs(group, nowMs)
  const followUpId =
    dueMs === undefined
      ? undefined
      : outcome.followUp(job, {
          trigger: 'max-disconnect-timeout',
          dueMs,
          text: 'waits for a disconnected node to come back',
        })
  for (const row of rows) {
    const fate = fateOf(view.findNode(row.NodeID))
    outcome.update(row, {
      ClientStatus: 'unknown',
      ClientDescription: nodeText(fate),
      DesiredDescription: REASONS.unknown(fate),
      ...withStatus(row, 'unknown', nowMs),
      ...(followUpId === undefined ? {} : { FollowupEvalID: followUpId }),
    })
  }
}

/** They were unknown, are back, and stay: nothing of their absence is left but its record. */
export function markReturned(rows: readonly AllocationRow[], { context, outcome }: Run): void {
  for (const row of rows)
    outcome.update(row, {
      DesiredDescription: undefined,
      NextAllocation: undefined,
      FollowupEvalID: undefined,
      ...withStatus(row, row.ClientStatus, context.nowMs),
    })
}
