import type {
  AllocatedResources,
  Evaluation,
  Job,
  PlacementMetrics,
  TaskGroup,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  allocationName,
  type AllocationRow,
  type PublicNode,
  type StoredMetrics,
} from '../model/index.ts'
import {
  readyNodesInPoolAndDatacenters,
  isInPoolAndDatacenters,
  type ReadyNodes,
} from './feasibility/ready-nodes.ts'
import {
  firstViolation,
  distinctConstraints,
  type DistinctConstraint,
  singleWriterConstraints,
} from './feasibility/distinct-constraints.ts'
import {
  newFeasibilityChecker,
  type FeasibilityChecker,
  type FeasibilityRule,
} from './feasibility/feasibility-rules.ts'
import { canPreempt, type PreemptionResult, Preemptor } from './preemption/preemptor.ts'
import { PlannedVictims, type Victim } from './preemption/victim.ts'
import type { ProposedState } from './proposed-state.ts'
import { assignResources } from './resources/assign-resources.ts'
import { NodeRanker, type Selection } from './ranking/node-ranker.ts'
import {
  groupRequirements,
  needsDiscreteResources,
  type GroupRequirements,
  exhaustedDimension,
} from './resources/resource-fit.ts'
import { PlacementMetricsBuilder } from './ranking/placement-metrics.ts'
import type { PlacementView, PlacementSettings, SchedulingContext } from './cluster-view.ts'

interface PlacerOptions {
  readonly view: PlacementView
  readonly job: Job
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
  readonly proposed: ProposedState
}

/** Request to place one allocation. */
export interface PlaceRequest {
  readonly group: TaskGroup
  readonly index: number
  readonly penaltyNodeIds?: ReadonlySet<string>
  /** Node that is tried first, because it has the data of the allocation. */
  readonly preferredNodeId?: string
  /** The only node that is allowed. */
  readonly onlyNodeId?: string
}

export type PlaceResult =
  | {
      readonly ok: true
      readonly row: AllocationRow
      /** Preempted allocations of lower priority; their resources count as free. */
      readonly preempted?: readonly AllocationRow[]
    }
  | { readonly ok: false; readonly metrics: PlacementMetrics }

/** Values computed once per group of the job. */
interface GroupCache {
  readonly requirements: GroupRequirements
  readonly feasibility: FeasibilityChecker
  readonly distinct: readonly DistinctConstraint[]
  /**
   * Created by the first placement: an evaluation that only stops allocations does not rank nodes.
   */
  ranker?: NodeRanker
  preemptor?: Preemptor
  metrics?: PlacementMetricsBuilder
  /** Resources of every allocation of the group, if it needs no discrete ones. */
  resources?: AllocatedResources
}

/**
 * Finds nodes for the allocations of one job. Each placement takes the earlier ones into account.
 */
export class Placer {
  readonly #options: PlacerOptions
  readonly #groupCaches = new Map<string, GroupCache>()
  readonly #plannedVictims = new PlannedVictims()
  #readyNodes: ReadyNodes | undefined

  constructor(options: PlacerOptions) {
    this.#options = options
  }

  /** Ready nodes in the pool and datacenters of the job. */
  get readyNodes(): ReadyNodes {
    this.#readyNodes ??= readyNodesInPoolAndDatacenters(this.#options.view, this.#options.job)
    return this.#readyNodes
  }

  /**
   * Places an allocation and adds it to the proposed state, or returns metrics of the failed
   * search.
   */
  place(request: PlaceRequest): PlaceResult {
    const { context } = this.#options
    const startNs = context.monotonicNs?.() ?? 0
    const ranker = this.#rankerOf(request.group)
    const selection = select(ranker, request)
    const preemption = selection.chosen === undefined ? this.#preempt(request) : undefined
    const result: Selection =
      preemption === undefined
        ? selection
        : { ...selection, chosen: preemption.node, topScores: preemption.topScores }
    const elapsedNs = (context.monotonicNs?.() ?? 0) - startNs
    const metricsBuilder = this.#metricsOf(request.group)
    if (result.chosen === undefined)
      return { ok: false, metrics: metricsBuilder.forFailure(result, elapsedNs) }
    const metrics =
      request.onlyNodeId === undefined
        ? metricsBuilder.forPlacement(result, elapsedNs)
        : metricsBuilder.forSingleNode(result, elapsedNs)
    return this.#commit({ request, node: result.chosen, metrics }, preemption?.victims ?? [])
  }

  /** Tries preemption; called only if no node has enough capacity. */
  #preempt(request: PlaceRequest): PreemptionResult | undefined {
    const { job } = this.#options
    if (!canPreempt(job, this.#settings)) return undefined
    const cache = this.#cacheOf(request.group)
    cache.preemptor ??= new Preemptor({
      ...this.#options,
      requirements: cache.requirements,
      ranker: this.#rankerOf(request.group),
      plannedVictims: this.#plannedVictims,
    })
    return cache.preemptor.select(request)
  }

  /** Adds the allocation to the proposed state and removes the preempted ones. */
  #commit(placement: NewPlacement, victims: readonly Victim[]): PlaceResult {
    const { proposed } = this.#options
    for (const victim of victims) {
      proposed.evict(victim.row)
      this.#plannedVictims.add(victim)
    }
    const row = this.#newRow(placement)
    if (victims.length === 0) {
      proposed.place(row)
      return { ok: true, row }
    }
    const preempted = victims.map((victim) => victim.row)
    const preemptingRow = { ...row, PreemptedAllocations: preempted.map(({ ID }) => ID) }
    proposed.place(preemptingRow)
    return { ok: true, row: preemptingRow, preempted }
  }

  /**
   * True if an allocation could stay on its node under the new version of its group, not counting
   * its own usage. It keeps its ports.
   */
  fitsInPlace(row: AllocationRow, group: TaskGroup): boolean {
    const { view, job, proposed } = this.#options
    const node = view.findNode(row.NodeID)
    if (node === undefined || !isInPoolAndDatacenters(node, job)) return false
    const { requirements, feasibility, distinct } = this.#cacheOf(group)
    if (feasibility.reasonFor(node) !== undefined) return false
    proposed.stop(row)
    const exhausted = exhaustedDimension(
      node,
      { ...requirements, ports: [] },
      proposed.usageOn(node.ID),
    )
    const violation = firstViolation(distinct, node)
    proposed.restore(row)
    return exhausted === undefined && violation === undefined
  }

  /** True if the node is feasible for the group, regardless of capacity. */
  isFeasible(node: PublicNode, group: TaskGroup): boolean {
    return this.#cacheOf(group).feasibility.reasonFor(node) === undefined
  }

  /**
   * Node classes for a blocked evaluation: see `ClassEligibility` and `EscapedComputedClass` of an
   * evaluation.
   */
  classEligibility(groups: readonly TaskGroup[]): {
    readonly escaped: boolean
    readonly eligible: ReadonlyMap<string, boolean>
  } {
    const eligible = new Map<string, boolean>()
    for (const group of groups)
      for (const [name, fits] of this.#rankerOf(group).classEligibility)
        eligible.set(name, fits || eligible.get(name) === true)
    return {
      escaped: groups.some((group) => this.#cacheOf(group).feasibility.escapesComputedClass),
      eligible,
    }
  }

  /** Rules and requirements of a group, for explanations. */
  rulesOf(group: TaskGroup): {
    readonly ask: GroupRequirements
    readonly rules: readonly FeasibilityRule[]
    readonly distinct: readonly DistinctConstraint[]
  } {
    const { requirements, feasibility, distinct } = this.#cacheOf(group)
    return { ask: requirements, rules: feasibility.rules, distinct }
  }

  get #settings(): PlacementSettings {
    return this.#options.view.settingsFor(this.#options.job.NodePool)
  }

  #cacheOf(group: TaskGroup): GroupCache {
    const { view, job, proposed } = this.#options
    let cache = this.#groupCaches.get(group.Name)
    if (cache === undefined) {
      const findNode = (id: string): PublicNode | undefined => view.findNode(id)
      cache = {
        requirements: groupRequirements(group, this.#settings),
        feasibility: newFeasibilityChecker(job, group, (id) =>
          view.findHostVolume(job.Namespace, id),
        ),
        distinct: [
          ...distinctConstraints({ job, group, proposed, findNode }),
          ...singleWriterConstraints({ job, group, proposed, view }),
        ],
      }
      this.#groupCaches.set(group.Name, cache)
    }
    return cache
  }

  #rankerOf(group: TaskGroup): NodeRanker {
    const cache = this.#cacheOf(group)
    cache.ranker ??= new NodeRanker({
      ...this.#options,
      requirements: cache.requirements,
      feasibility: cache.feasibility,
      distinct: cache.distinct,
      group,
      readyNodes: this.readyNodes,
      settings: this.#settings,
    })
    return cache.ranker
  }

  #metricsOf(group: TaskGroup): PlacementMetricsBuilder {
    const cache = this.#cacheOf(group)
    cache.metrics ??= new PlacementMetricsBuilder(group, this.readyNodes, this.#rankerOf(group))
    return cache.metrics
  }

  #newRow({ request, node, metrics }: NewPlacement): AllocationRow {
    const { job, evaluation, context } = this.#options
    const { group, index } = request
    return {
      ID: context.ids.uuid(),
      Namespace: job.Namespace,
      EvalID: evaluation.ID,
      Name: allocationName(job.ID, group.Name, index),
      NodeID: node.ID,
      NodeName: node.Name,
      JobID: job.ID,
      JobType: job.Type,
      JobVersion: job.Version,
      TaskGroup: group.Name,
      DesiredStatus: 'run',
      ClientStatus: 'pending',
      AllocatedResources: this.#resources(group, node),
      Metrics: metrics,
      CreateIndex: 0,
      ModifyIndex: 0,
      AllocModifyIndex: 0,
      CreateTime: nsFromMs(context.nowMs),
      ModifyTime: nsFromMs(context.nowMs),
    }
  }

  #resources(group: TaskGroup, node: PublicNode): AllocatedResources {
    const { context, proposed } = this.#options
    const cache = this.#cacheOf(group)
    if (cache.resources !== undefined) return cache.resources
    const resources = assignResources({
      group,
      requirements: cache.requirements,
      node,
      usage: proposed.usageOn(node.ID),
      random: context.random,
    })
    if (!needsDiscreteResources(cache.requirements)) cache.resources = resources
    return resources
  }
}

/** A placement with its chosen node. */
interface NewPlacement {
  readonly request: PlaceRequest
  readonly node: PublicNode
  readonly metrics: StoredMetrics
}

function select(ranker: NodeRanker, request: PlaceRequest): Selection {
  const { index, penaltyNodeIds, preferredNodeId, onlyNodeId } = request
  const baseRequest = { index, ...(penaltyNodeIds === undefined ? {} : { penaltyNodeIds }) }
  if (onlyNodeId !== undefined) return ranker.select({ ...baseRequest, onlyNodeId })
  if (preferredNodeId !== undefined) {
    const selection = ranker.select({ ...baseRequest, onlyNodeId: preferredNodeId })
    if (selection.chosen !== undefined) return selection
  }
  return ranker.select(baseRequest)
}
