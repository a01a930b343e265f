import type {
  Evaluation,
  ExplainScope,
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
import { isPlacedAtOnce, isSystemJob } from '../job-kind.ts'
import { Placer } from '../placer.ts'
import { Proposed } from '../proposed.ts'
import { isDone } from '../reconcile/classify.ts'
import type { ClusterView, PlacementView, SchedulingContext } from '../view.ts'
import { smallestChanges } from './changes.ts'
import { nodeReasons } from './node-reasons.ts'
import { refusals, refusingNodes, type RefusingNode } from './refusals.ts'
import { changedView, groupIn, type World } from './trial.ts'

/** How many missing instances a trial places: beyond it a change places "that many or more". */
const TRIED_INSTANCES_MAX = 200
const LIMIT_DEFAULT = 20

export interface ExplainOptions {
  readonly view: PlacementView & Pick<ClusterView, 'allocationsOf'>
  readonly job: Job
  /** All nodes of the cluster, ready or not. */
  readonly nodes: readonly PublicNode[]
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
  readonly by?: ExplainScope
  /** How many refusals and instances are listed. */
  readonly limit?: number
  /**
   * What is known of an instance besides what placement can tell: that it waits for a time, or that
   * its deployment holds it back. The node is empty except in jobs that run on every node.
   */
  readonly knownOf?: (name: string, nodeId: string) => KnownInstance | undefined
  /** What an evaluation would find room for and not place: see `Plan`. */
  readonly withheld?: readonly AllocationRow[]
}

export type KnownInstance = Partial<
  Pick<UnplacedInstance, 'State' | 'WaitUntil' | 'PreviousAllocation' | 'Text'>
>

/** An instance that is not there. */
interface Missing {
  readonly index: number
  readonly name: string
  /** The node it is meant for, in jobs that run on every node. */
  readonly nodeId?: string
}

/**
 * Why instances of a group are not placed, and the smallest changes that would place them. It is
 * found out by the very search that places allocations, in the cluster as it is and as it would be.
 */
export function explainGroup(group: TaskGroup, options: ExplainOptions): GroupExplanation {
  return runToCompletion(explainGroupSteps(group, options))
}

/** The same in steps. The view must not change between the first and the last one. */
export function* explainGroupSteps(
  group: TaskGroup,
  options: ExplainOptions,
): Steps<GroupExplanation> {
  const { job, nodes, by = 'class', limit = LIMIT_DEFAULT, withheld = [] } = options
  const rows = options.view.allocationsOf(job.Namespace, job.ID)
  const present = rows.filter((row) => row.TaskGroup === group.Name && isPresent(row, job))
  const missing = missingInstances(group, present, options)
  const known = new Map<Missing, KnownInstance | undefined>()
  for (const one of missing) {
    yield
    known.set(one, options.knownOf?.(one.name, one.nodeId ?? ''))
  }
  const roomy = new Set(withheld.map((row) => row.Name))
  const tried = missing.filter((one) => roomy.has(one.name) || !isHeldBack(known.get(one)))
  const search = yield* placeAll({ view: options.view, job, group, tried, rows }, options)
  const refusing = search.failed === undefined ? [] : yield* search.refusing(nodes)
  const refused = refusals(refusing, by)
  const shown = missing.slice(0, limit)
  const changes = yield* changesFor(group, { ...options, tried, rows, search, refusing })
  return {
    TaskGroup: group.Name,
    Desired: present.length + missing.length,
    Placed: present.length,
    Unplaced: missing.length,
    Instances: shown.map((one) => instanceOf(one, search, known.get(one))),
    InstancesOmitted: missing.length - shown.length,
    NodesConsidered: nodes.length,
    Refusals: refused.slice(0, limit),
    RefusalsOmitted: Math.max(0, refused.length - limit),
    Changes: [...changes],
    Metrics: search.failed?.metrics ?? null,
  }
}

/** What runs or will run, and what has done its work. */
function isPresent(row: AllocationRow, job: Job): boolean {
  if (job.Type === 'batch' && isDone(row, job)) return true
  if (isServerTerminal(row)) return false
  return !isClientTerminal(row) || (job.Type === 'sysbatch' && isDone(row, job))
}

function isHeldBack(known: KnownInstance | undefined): boolean {
  return known?.State === 'delayed' || known?.State === 'held'
}

function missingInstances(
  group: TaskGroup,
  present: readonly AllocationRow[],
  { view, job, context, evaluation }: ExplainOptions,
): readonly Missing[] {
  if (isSystemJob(job)) {
    const held = new Set(present.map((row) => row.NodeID))
    const placer = new Placer({ view, job, context, evaluation, proposed: new Proposed(view, []) })
    const name = allocationName(job.ID, group.Name, 0)
    return placer.base.nodes
      .filter((node) => group.Count > 0 && !held.has(node.ID))
      .filter((node) => placer.isFeasible(node, group))
      .map((node) => ({ index: 0, name, nodeId: node.ID }))
  }
  const taken = new Set(present.map((row) => allocationIndex(row.Name)))
  return Array.from({ length: group.Count }, (_, index) => index)
    .filter((index) => !taken.has(index))
    .map((index) => ({ index, name: allocationName(job.ID, group.Name, index) }))
    .slice(0, Math.max(0, group.Count - present.length))
}

interface SearchOptions {
  readonly view: PlacementView
  readonly job: Job
  readonly group: TaskGroup
  readonly tried: readonly Missing[]
  readonly rows: readonly AllocationRow[]
}

interface Search {
  readonly placed: ReadonlyMap<Missing, AllocationRow>
  readonly failed: { readonly missing: Missing; readonly metrics: PlacementMetrics } | undefined
  /** Why nodes refuse the one that failed, with those before it placed. */
  readonly refusing: (nodes: readonly PublicNode[]) => Steps<readonly RefusingNode[]>
}

/** Places one after the other, as an evaluation would. */
function* placeAll(
  { view, job, group, tried, rows }: SearchOptions,
  { context, evaluation, withheld = [] }: ExplainOptions,
): Steps<Search> {
  const proposed = new Proposed(view, rows)
  // What comes all at once needs room beside the other groups.
  for (const row of withheld) if (row.TaskGroup !== group.Name) proposed.place(row)
  const placer = new Placer({ view, job, evaluation, context, proposed })
  const placed = new Map<Missing, AllocationRow>()
  let failed: Search['failed']
  let failures = 0
  for (const missing of tried) {
    // Where every instance has a node of its own, what one lacks says nothing about the next.
    if (failed !== undefined && missing.nodeId === undefined) {
      failures += 1
      continue
    }
    const only = missing.nodeId === undefined ? {} : { only: missing.nodeId }
    yield
    const result = placer.place({ group, index: missing.index, ...only })
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
    refusing: (nodes) =>
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

interface ChangesOptions extends ExplainOptions {
  readonly tried: readonly Missing[]
  readonly rows: readonly AllocationRow[]
  readonly search: Search
  readonly refusing: readonly RefusingNode[]
}

function* changesFor(group: TaskGroup, options: ChangesOptions): Steps<readonly PlacementChange[]> {
  const { view, job, nodes, tried, rows, search, refusing } = options
  if (search.failed === undefined) return []
  const isAtOnce = isPlacedAtOnce(job)
  // Whether all of them find room, a part of them does not tell.
  if (isAtOnce && tried.length > TRIED_INSTANCES_MAX) return []
  const some = tried.slice(0, TRIED_INSTANCES_MAX)
  const tryIn = function* (world: World): Steps<readonly AllocationRow[]> {
    const changed = world.job?.(job) ?? job
    const changedGroup = groupIn(changed, group)
    if (changedGroup === undefined) return []
    const there = changedView(view, nodes, world)
    const found = yield* placeAll(
      { view: there, job: changed, group: changedGroup, tried: some, rows },
      options,
    )
    return isAtOnce && found.failed !== undefined ? [] : [...found.placed.values()]
  }
  const placedNow = isAtOnce ? 0 : some.filter((one) => search.placed.has(one)).length
  const usageOn = (id: string): NodeUsage => view.usageOn(id)
  const settings = view.settingsFor(job.NodePool)
  return yield* smallestChanges({ job, group, refusing, usageOn, settings, placedNow, tryIn })
}

function instanceOf(
  missing: Missing,
  { placed }: Search,
  known: KnownInstance | undefined,
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
    ...known,
  }
}
