import type {
  Evaluation,
  ExplainScope,
  Explanation,
  GroupExplanation,
  Job,
  PlacementChange,
  PlacementMetrics,
  TaskGroup,
  UnplacedInstance,
} from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import {
  allocationIndex,
  allocationName,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type NodeUsage,
  type PublicNode,
} from '../../model/index.ts'
import {
  type ClusterView,
  isAllAtOnce,
  isSystemJob,
  type PlacementView,
  type SchedulingContext,
} from '../cluster-view.ts'
import { Placer } from '../placer.ts'
import { ProposedState } from '../proposed-state.ts'
import { isBatchWorkComplete } from '../reconcile/classify.ts'
import { smallestRemedies } from './remedies.ts'
import { groupRejections, nodeReasons, refusingNodes, type RejectedNode } from './rejections.ts'
import { groupOf } from '../reconcile/job-versions.ts'
import { viewWithChange, type WhatIfChange } from './what-if-view.ts'

/**
 * Maximum number of missing allocations that a trial places; the count of a change is then a lower
 * bound.
 */
const EXPLAINED_INSTANCES_MAX = 200
const LISTED_DEFAULT = 20

export interface ExplainOptions {
  readonly view: PlacementView & Pick<ClusterView, 'allocationsOf'>
  readonly job: Job
  /** All nodes of the cluster, ready or not. */
  readonly nodes: readonly PublicNode[]
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
  readonly scope?: ExplainScope
  /** Maximum number of rejections and allocations that are listed. */
  readonly limit?: number
  /**
   * Status of an allocation that placement alone cannot tell: delayed until a time, or held back by
   * its deployment. `nodeId` is empty except for system and sysbatch jobs.
   */
  readonly statusOf?: (name: string, nodeId: string) => InstanceStatus | undefined
  /** Allocations that fit but are not placed, because the job is placed all at once: see `Plan`. */
  readonly withheld?: readonly AllocationRow[]
}

export type InstanceStatus = Partial<
  Pick<UnplacedInstance, 'State' | 'WaitUntil' | 'PreviousAllocation' | 'Text'>
>

/** An allocation that the count requires and that does not exist. */
interface MissingInstance {
  readonly index: number
  readonly name: string
  /** Target node, for system and sysbatch jobs. */
  readonly nodeId?: string
}

/**
 * Explains why allocations of a group are not placed, and finds the smallest changes that would
 * place them. Uses the placement code itself, on the current cluster and on what-if views.
 */
export function explainGroup(group: TaskGroup, options: ExplainOptions): GroupExplanation {
  return runToCompletion(explainGroupSteps(group, options))
}

/** Like `explainGroup`, in steps. The view must not change between the first and the last step. */
export function* explainGroupSteps(
  group: TaskGroup,
  options: ExplainOptions,
): Steps<GroupExplanation> {
  const { job, nodes, scope = 'class', limit = LISTED_DEFAULT, withheld = [] } = options
  const rows = options.view.allocationsOf(job.Namespace, job.ID)
  const present = rows.filter((row) => row.TaskGroup === group.Name && isPresent(row, job))
  const missing = missingInstances(group, present, options)
  const statuses = new Map<MissingInstance, InstanceStatus | undefined>()
  for (const one of missing) {
    yield
    statuses.set(one, options.statusOf?.(one.name, one.nodeId ?? ''))
  }
  const placeableNames = new Set(withheld.map((row) => row.Name))
  const candidates = missing.filter(
    (one) => placeableNames.has(one.name) || !isHeldBack(statuses.get(one)),
  )
  const attempt = yield* placeAll(
    { view: options.view, job, group, instances: candidates, rows },
    options,
  )
  const rejectedNodes = attempt.failed === undefined ? [] : yield* attempt.rejectedNodes(nodes)
  const rejectionGroups = groupRejections(rejectedNodes, scope)
  const listed = missing.slice(0, limit)
  const changes = yield* remediesForGroup(group, {
    ...options,
    instances: candidates,
    rows,
    attempt,
    rejectedNodes,
  })
  return {
    TaskGroup: group.Name,
    Desired: present.length + missing.length,
    Placed: present.length,
    Unplaced: missing.length,
    Instances: listed.map((one) => toUnplacedInstance(one, attempt, statuses.get(one))),
    InstancesOmitted: missing.length - listed.length,
    NodesConsidered: nodes.length,
    Refusals: rejectionGroups.slice(0, limit),
    RefusalsOmitted: Math.max(0, rejectionGroups.length - limit),
    Changes: [...changes],
    Metrics: attempt.failed?.metrics ?? null,
  }
}

/** True for allocations that run or will run, and for completed batch work. */
function isPresent(row: AllocationRow, job: Job): boolean {
  if (job.Type === 'batch' && isBatchWorkComplete(row, job)) return true
  if (isServerTerminal(row)) return false
  return !isClientTerminal(row) || (job.Type === 'sysbatch' && isBatchWorkComplete(row, job))
}

function isHeldBack(status: InstanceStatus | undefined): boolean {
  return status?.State === 'delayed' || status?.State === 'held'
}

function missingInstances(
  group: TaskGroup,
  present: readonly AllocationRow[],
  { view, job, context, evaluation }: ExplainOptions,
): readonly MissingInstance[] {
  if (isSystemJob(job)) {
    const occupied = new Set(present.map((row) => row.NodeID))
    const placer = new Placer({
      view,
      job,
      context,
      evaluation,
      proposed: new ProposedState(view, []),
    })
    const name = allocationName(job.ID, group.Name, 0)
    return placer.readyNodes.nodes
      .filter((node) => group.Count > 0 && !occupied.has(node.ID))
      .filter((node) => placer.isFeasible(node, group))
      .map((node) => ({ index: 0, name, nodeId: node.ID }))
  }
  const takenIndexes = new Set(present.map((row) => allocationIndex(row.Name)))
  return Array.from({ length: group.Count }, (_, index) => index)
    .filter((index) => !takenIndexes.has(index))
    .map((index) => ({ index, name: allocationName(job.ID, group.Name, index) }))
    .slice(0, Math.max(0, group.Count - present.length))
}

interface PlacementAttemptOptions {
  readonly view: PlacementView
  readonly job: Job
  readonly group: TaskGroup
  readonly instances: readonly MissingInstance[]
  readonly rows: readonly AllocationRow[]
}

interface PlacementAttempt {
  readonly placed: ReadonlyMap<MissingInstance, AllocationRow>
  readonly failed:
    | { readonly missing: MissingInstance; readonly metrics: PlacementMetrics }
    | undefined
  /** Rejection reasons of nodes for the failed allocation, with the earlier ones placed. */
  readonly rejectedNodes: (nodes: readonly PublicNode[]) => Steps<readonly RejectedNode[]>
}

/** Places the allocations one after the other, as an evaluation would. */
function* placeAll(
  { view, job, group, instances, rows }: PlacementAttemptOptions,
  { context, evaluation, withheld = [] }: ExplainOptions,
): Steps<PlacementAttempt> {
  const proposed = new ProposedState(view, rows)
  // A job that is placed all at once needs capacity for its other groups too.
  for (const row of withheld) if (row.TaskGroup !== group.Name) proposed.place(row)
  const placer = new Placer({ view, job, evaluation, context, proposed })
  const placed = new Map<MissingInstance, AllocationRow>()
  let failed: PlacementAttempt['failed']
  let failures = 0
  for (const missing of instances) {
    // Allocations with their own target node fail independently of each other.
    if (failed !== undefined && missing.nodeId === undefined) {
      failures += 1
      continue
    }
    const restriction = missing.nodeId === undefined ? {} : { onlyNodeId: missing.nodeId }
    yield
    const result = placer.place({ group, index: missing.index, ...restriction })
    if (result.ok) placed.set(missing, result.row)
    else {
      failures += 1
      failed ??= { missing, metrics: result.metrics }
    }
  }
  return {
    placed,
    failed: failed && {
      ...failed,
      metrics: { ...failed.metrics, CoalescedFailures: failures - 1 },
    },
    rejectedNodes: (nodes) =>
      refusingNodes(nodes, (node) =>
        nodeReasons(node, {
          job,
          group,
          ...placer.rulesOf(group),
          usageOn: (id) => proposed.usageOn(id),
          findVolume: (id) => view.findHostVolume(job.Namespace, id),
          index: failed?.missing.index ?? 0,
        }),
      ),
  }
}

interface RemedyContext extends ExplainOptions {
  readonly instances: readonly MissingInstance[]
  readonly rows: readonly AllocationRow[]
  readonly attempt: PlacementAttempt
  readonly rejectedNodes: readonly RejectedNode[]
}

function* remediesForGroup(
  group: TaskGroup,
  options: RemedyContext,
): Steps<readonly PlacementChange[]> {
  const { view, job, nodes, instances, rows, attempt, rejectedNodes } = options
  if (attempt.failed === undefined) return []
  const isAllAtOnceJob = isAllAtOnce(job)
  // A part of the allocations cannot show whether all of them fit.
  if (isAllAtOnceJob && instances.length > EXPLAINED_INSTANCES_MAX) return []
  const sampled = instances.slice(0, EXPLAINED_INSTANCES_MAX)
  const placeWith = function* (change: WhatIfChange): Steps<readonly AllocationRow[]> {
    const changed = change.job?.(job) ?? job
    const changedGroup = groupOf(changed, group.Name)
    if (changedGroup === undefined) return []
    const whatIfView = viewWithChange(view, nodes, change)
    const attemptWithChange = yield* placeAll(
      { view: whatIfView, job: changed, group: changedGroup, instances: sampled, rows },
      options,
    )
    return isAllAtOnceJob && attemptWithChange.failed !== undefined
      ? []
      : [...attemptWithChange.placed.values()]
  }
  const placedNow = isAllAtOnceJob ? 0 : sampled.filter((one) => attempt.placed.has(one)).length
  const usageOn = (id: string): NodeUsage => view.usageOn(id)
  const settings = view.settingsFor(job.NodePool)
  return yield* smallestRemedies({
    job,
    group,
    rejectedNodes,
    usageOn,
    settings,
    placedWithoutChange: placedNow,
    placeWith,
  })
}

function toUnplacedInstance(
  missing: MissingInstance,
  { placed }: PlacementAttempt,
  status: InstanceStatus | undefined,
): UnplacedInstance {
  const row = placed.get(missing)
  return {
    Name: missing.name,
    NodeID: missing.nodeId ?? '',
    State: row === undefined ? 'refused' : 'queued',
    WaitUntil: ZERO_TIME,
    PreviousAllocation: '',
    Text:
      row === undefined
        ? 'no node takes it'
        : `there is room for it on node ${row.NodeName}; its evaluation has not run yet`,
    ...status,
  }
}

interface ExplanationOptions {
  readonly job: Job
  readonly evaluation: Evaluation
  readonly index: number
  /** Number of groups that were not explained. */
  readonly omitted?: number
}

/** Combines the explanations of groups into that of a job, without complete groups. */
export function toExplanation(
  groupExplanations: readonly GroupExplanation[],
  { job, evaluation, index, omitted = 0 }: ExplanationOptions,
): Explanation {
  const groups = groupExplanations.filter((group) => group.Unplaced > 0)
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    JobVersion: job.Version,
    EvalID: evaluation.ID,
    EvalStatus: evaluation.Status,
    Index: index,
    Text: groups.length === 0 ? 'all allocations are placed' : explanationText(groups, job),
    Groups: groups,
    GroupsOmitted: omitted,
  }
}

function explanationText(groups: readonly GroupExplanation[], job: Job): string {
  const text = groups.map(groupSentence).join('; ')
  const isRefused = groups.some(({ Metrics }) => Metrics !== null)
  return isRefused && isAllAtOnce(job)
    ? `${text}; the allocations are placed all at once or not at all`
    : text
}

function groupSentence(group: GroupExplanation): string {
  const { TaskGroup, Desired, Unplaced, NodesConsidered, Instances, Refusals, Changes } = group
  const summary = `${Unplaced} of ${Desired} allocations of group "${TaskGroup}" are unplaced`
  const [nearest] = Refusals
  if (NodesConsidered === 0) return `${summary}: there are no nodes`
  if (nearest === undefined) return `${summary}: ${Instances[0]?.Text ?? ''}`
  const reasons = nearest.Reasons.map((reason) => reason.Text).join('; ')
  const [node] = nearest.Nodes
  const name = node === undefined ? '' : ` ${node.Name || node.ID.slice(0, 8)}`
  const [change] = Changes
  const remedy = change === undefined ? '' : `; to place ${change.Places}: ${change.Text}`
  return `${summary}: closest node${name}: ${reasons}${remedy}`
}
