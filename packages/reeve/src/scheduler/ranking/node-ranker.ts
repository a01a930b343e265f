import type { Job, TaskGroup } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { NO_USAGE, type NodeUsage, type PublicNode, type StoredScore } from '../../model/index.ts'
import type { NodeTable, NodeUsageColumns, ReadyNodes } from '../feasibility/ready-nodes.ts'
import { firstViolation, type DistinctConstraint } from '../feasibility/distinct-constraints.ts'
import {
  type FeasibilityChecker,
  perAllocationVolumeCheck,
} from '../feasibility/feasibility-rules.ts'
import type { ProposedState } from '../proposed-state.ts'
import type { PlacementSettings, PlacementView } from '../cluster-view.ts'
import {
  capacityOf,
  demandOnNode,
  needsDiscreteResources,
  type GroupRequirements,
  exhaustedCores,
  exhaustedDiscrete,
} from '../resources/resource-fit.ts'
import { NodeScores } from './node-scores.ts'
import { storedScore } from './score.ts'
import { insertRanked, type RankedNode } from './score-heaps.ts'

/** Number of top scores that are stored with an allocation. */
export const TOP_SCORES_KEPT = 5

interface NodeRankerOptions {
  readonly view: PlacementView
  readonly job: Job
  readonly group: TaskGroup
  readonly readyNodes: ReadyNodes
  readonly requirements: GroupRequirements
  readonly feasibility: FeasibilityChecker
  readonly distinct: readonly DistinctConstraint[]
  readonly proposed: ProposedState
  readonly settings: PlacementSettings
}

/** Request to select one node. */
export interface SelectionRequest {
  /** Name index of the allocation. */
  readonly index: number
  /** Nodes with a score penalty, because the allocation failed there before. */
  readonly penaltyNodeIds?: ReadonlySet<string>
  /** The only node that may be selected. */
  readonly onlyNodeId?: string
}

export interface Selection {
  /** Undefined if no node can run the allocation. */
  readonly chosen: PublicNode | undefined
  /** Nodes rejected for this name index only, by reason. */
  readonly rejections: RejectionCounts | undefined
  readonly topScores: readonly StoredScore[]
}

/** Status of a node for the group. */
const STATUS_FILTERED = 0
const STATUS_ACCEPTED = 1
const STATUS_EXHAUSTED = 2
const STATUS_REJECTED = 3

/**
 * Ranks the nodes that can run a group. Only nodes that the plan has changed are evaluated again,
 * with the same result as a full scan (`candidates.test.ts`).
 */
export class NodeRanker {
  readonly #options: NodeRankerOptions
  readonly #table: NodeTable
  readonly #usage: NodeUsageColumns
  readonly #status: Uint8Array
  /** Reason by table row, for exhausted and rejected nodes. */
  readonly #rejection = new Map<number, string>()
  /** Rows by value, for each distinct property. */
  readonly #rowsByDistinctValue: readonly ReadonlyMap<string, readonly number[]>[]
  readonly #needsDiscreteResources: boolean
  readonly #checkPerIndex: ((node: PublicNode, index: number) => string | undefined) | undefined
  #changesApplied = 0
  readonly scores: NodeScores
  /** Nodes filtered by a rule, by reason and by class. */
  readonly filteredCounts = new RejectionCounts()
  /** Exhausted nodes, by dimension. */
  readonly exhaustedCounts = new RejectionCounts()
  /** Whether nodes of a class can run the group. */
  readonly classEligibility = new Map<string, boolean>()

  constructor(options: NodeRankerOptions) {
    const { view, group, readyNodes, requirements, distinct } = options
    const { table } = readyNodes
    this.#options = options
    this.#table = table
    this.#usage = table.usage(view)
    this.#status = new Uint8Array(table.size)
    this.#rowsByDistinctValue = distinct.map((rule) => nodesByValue(rule, table))
    this.#needsDiscreteResources = needsDiscreteResources(requirements)
    const { job } = options
    this.#checkPerIndex = perAllocationVolumeCheck(group, (id) =>
      view.findHostVolume(job.Namespace, id),
    )
    this.scores = new NodeScores({ ...options, table, findNode: (id) => view.findNode(id) })
    this.#applyProposedChanges(() => undefined)
    for (const rule of distinct) rule.takeChangedValues()
    this.#evaluateAll()
  }

  /** Selects the best node for one more allocation; ties go to the lowest ID. */
  select(request: SelectionRequest): Selection {
    this.#refresh()
    const { index, penaltyNodeIds = NO_NODES, onlyNodeId } = request
    if (onlyNodeId !== undefined)
      return this.#selectOne(this.rowOf(onlyNodeId), index, penaltyNodeIds)
    if (this.#checkPerIndex === undefined)
      return this.#toSelection(this.#topRanked(penaltyNodeIds), penaltyNodeIds, undefined)
    const rejections = new RejectionCounts()
    return this.#toSelection(
      this.#rankAll(index, penaltyNodeIds, rejections),
      penaltyNodeIds,
      rejections,
    )
  }

  /** Rows of feasible nodes without enough capacity. */
  exhaustedNodes(): readonly number[] {
    this.#refresh()
    const rows: number[] = []
    for (let at = 0; at < this.#table.size; at++) if (this.isExhausted(at)) rows.push(at)
    return rows
  }

  isExhausted(at: number): boolean {
    return this.#status[at] === STATUS_EXHAUSTED
  }

  /** Reason for which a node is rejected for this name index only. */
  rejectionAt(at: number, index: number): string | undefined {
    return this.#checkPerIndex?.(this.nodeAt(at), index)
  }

  /** Table row of a node; −1 if it is not in the pool and datacenters of the job. */
  rowOf(nodeId: string): number {
    return this.#table.rowOf(nodeId)
  }

  nodeAt(at: number): PublicNode {
    return this.#table.nodeAt(at)
  }

  /** Evaluates all nodes; rules that depend on the class alone are evaluated once per class. */
  #evaluateAll(): void {
    const { feasibility } = this.#options
    const { values, representatives, valueIds } = this.#table.classes
    const reasons = representatives.map((node) => feasibility.reasonFor(node))
    for (const [classId, node] of representatives.entries())
      this.classEligibility.set(values[classId] ?? '', !feasibility.isClassIneligible(node))
    for (let at = 0; at < valueIds.length; at++) {
      const classId = valueIds[at] ?? -1
      const reason =
        feasibility.isDecidedByClass && classId >= 0
          ? reasons[classId]
          : feasibility.reasonFor(this.nodeAt(at))
      if (reason === undefined) this.#evaluateNode(at)
      else this.filteredCounts.add(reason, this.nodeAt(at).NodeClass)
    }
  }

  /** Evaluates the nodes again that the plan has changed since. */
  #refresh(): void {
    this.#applyProposedChanges((at) => this.#reevaluateNode(at))
    for (const [i, rule] of this.#options.distinct.entries())
      for (const value of rule.takeChangedValues())
        for (const at of this.#rowsByDistinctValue[i]?.get(value) ?? []) this.#reevaluateNode(at)
  }

  #reevaluateNode(at: number): void {
    if (this.#status[at] !== STATUS_FILTERED) this.#evaluateNode(at)
  }

  /** Applies the changes of the plan since the last call. */
  #applyProposedChanges(onChanged: (at: number) => void): void {
    const { changes } = this.#options.proposed
    for (; this.#changesApplied < changes.length; this.#changesApplied++) {
      const change = changes[this.#changesApplied]
      if (change === undefined) continue
      const at = this.rowOf(change.nodeId)
      this.scores.apply(change, at)
      if (at < 0) continue
      this.#loadUsage(at, change.nodeId)
      onChanged(at)
    }
  }

  #loadUsage(at: number, nodeId: string): void {
    const usage = this.#options.proposed.usageOn(nodeId)
    this.#usage.cpuShares[at] = usage.cpuShares
    this.#usage.memoryMB[at] = usage.memoryMB
    this.#usage.diskMB[at] = usage.diskMB
    this.#usage.hasDiscreteUsage[at] =
      usage.cores.size + usage.ports.size + usage.devices.size > 0 ? 1 : 0
  }

  /** Evaluates one feasible node. */
  #evaluateNode(at: number): void {
    const { distinct } = this.#options
    const violation = distinct.length === 0 ? undefined : firstViolation(distinct, this.nodeAt(at))
    if (violation !== undefined) return this.#reject(at, STATUS_REJECTED, violation)
    const dimension = this.#exhaustedDimension(at)
    if (dimension !== undefined) return this.#reject(at, STATUS_EXHAUSTED, dimension)
    this.#clearRejection(at)
    this.#status[at] = STATUS_ACCEPTED
    const usage = {
      cpuShares: this.#usage.cpuShares[at] ?? 0,
      memoryMB: this.#usage.memoryMB[at] ?? 0,
    }
    this.scores.scoreNode(
      at,
      usage,
      this.#needsDiscreteResources ? this.#usageAt(at).devices : NO_USAGE.devices,
    )
  }

  #exhaustedDimension(at: number): string | undefined {
    const { requirements } = this.#options
    if (requirements.cores > 0) {
      const cores = exhaustedCores(this.nodeAt(at), requirements, this.#usageAt(at))
      if (cores !== undefined) return cores
    }
    const [table, usage] = [this.#table, this.#usage]
    const { cpuShares, memoryMB } =
      requirements.nodeIndependentDemand ?? demandOnNode(requirements, capacityOf(this.nodeAt(at)))
    if ((usage.cpuShares[at] ?? 0) + cpuShares > (table.cpuShares[at] ?? 0)) return 'cpu'
    if ((usage.memoryMB[at] ?? 0) + memoryMB > (table.memoryMB[at] ?? 0)) return 'memory'
    if ((usage.diskMB[at] ?? 0) + requirements.diskMB > (table.diskMB[at] ?? 0)) return 'disk'
    return this.#needsDiscreteResources
      ? exhaustedDiscrete(this.nodeAt(at), requirements, this.#usageAt(at))
      : undefined
  }

  /** Most nodes have no cores, ports or devices in use; their usage is not read. */
  #usageAt(at: number): NodeUsage {
    return this.#usage.hasDiscreteUsage[at] === 0
      ? NO_USAGE
      : this.#options.proposed.usageOn(this.nodeAt(at).ID)
  }

  /** Removes a node from the ranking and counts it under its reason. */
  #reject(at: number, status: number, reason: string): void {
    if (this.#status[at] === status && this.#rejection.get(at) === reason) return
    this.#clearRejection(at)
    this.scores.remove(at)
    this.#status[at] = status
    this.#rejection.set(at, reason)
    this.#countsOf(status).add(reason, this.nodeAt(at).NodeClass)
  }

  /** Removes the reason of a node from the counts. */
  #clearRejection(at: number): void {
    const reason = this.#rejection.get(at)
    if (reason === undefined) return
    this.#countsOf(this.#status[at]).remove(reason, this.nodeAt(at).NodeClass)
    this.#rejection.delete(at)
  }

  #countsOf(status: number | undefined): RejectionCounts {
    return status === STATUS_EXHAUSTED ? this.exhaustedCounts : this.filteredCounts
  }

  /**
   * Returns the best nodes. The few penalised ones are removed from the heaps' result, scored
   * separately and inserted again.
   */
  #topRanked(penaltyNodeIds: ReadonlySet<string>): readonly RankedNode[] {
    const top = this.scores.topNodes(TOP_SCORES_KEPT + penaltyNodeIds.size)
    if (penaltyNodeIds.size === 0) return top
    const ranked = top.filter(({ row }) => !penaltyNodeIds.has(this.nodeAt(row).ID))
    for (const id of penaltyNodeIds) {
      const at = this.rowOf(id)
      if (this.#status[at] !== STATUS_ACCEPTED) continue
      insertRanked(ranked, { row: at, score: this.scores.scoreAt(at, true) }, TOP_SCORES_KEPT)
    }
    return ranked
  }

  /** Ranks all nodes one by one, for checks that depend on the name index. */
  #rankAll(
    index: number,
    penaltyNodeIds: ReadonlySet<string>,
    rejections: RejectionCounts,
  ): readonly RankedNode[] {
    const ranked: RankedNode[] = []
    for (let at = 0; at < this.#table.size; at++) {
      if (this.#status[at] !== STATUS_ACCEPTED) continue
      const node = this.nodeAt(at)
      const reason = this.rejectionAt(at, index)
      if (reason !== undefined) {
        rejections.add(reason, node.NodeClass)
        continue
      }
      const score = this.scores.scoreAt(at, penaltyNodeIds.has(node.ID))
      insertRanked(ranked, { row: at, score }, TOP_SCORES_KEPT)
    }
    return ranked
  }

  #selectOne(at: number, index: number, penaltyNodeIds: ReadonlySet<string>): Selection {
    const rejections = new RejectionCounts()
    if (this.#status[at] !== STATUS_ACCEPTED)
      return { chosen: undefined, rejections, topScores: [] }
    const node = this.nodeAt(at)
    const reason = this.rejectionAt(at, index)
    if (reason !== undefined) {
      rejections.add(reason, node.NodeClass)
      return { chosen: undefined, rejections, topScores: [] }
    }
    const score = this.scores.scoreAt(at, penaltyNodeIds.has(node.ID))
    return this.#toSelection([{ row: at, score }], penaltyNodeIds, undefined)
  }

  #toSelection(
    ranked: readonly RankedNode[],
    penaltyNodeIds: ReadonlySet<string>,
    rejections: RejectionCounts | undefined,
  ): Selection {
    const [first] = ranked
    return {
      chosen: first === undefined ? undefined : this.nodeAt(first.row),
      rejections,
      topScores: ranked.slice(0, TOP_SCORES_KEPT).map(({ row: at, score }) => {
        const { ID: id } = this.nodeAt(at)
        return storedScore(id, score, this.scores.componentsAt(at, penaltyNodeIds.has(id)))
      }),
    }
  }
}

const NO_NODES: ReadonlySet<string> = new Set()

function nodesByValue(
  rule: DistinctConstraint,
  table: NodeTable,
): ReadonlyMap<string, readonly number[]> {
  if (rule.rule !== 'distinct-property' || rule.constraint === null) return new Map()
  const { values, valueIds } = table.propertyOf(rule.constraint.LTarget)
  const nodes = values.map((): number[] => [])
  for (const [at, valueId] of valueIds.entries()) nodes[valueId]?.push(at)
  return new Map(values.map((value, valueId) => [value, nodes[valueId] ?? []]))
}

type Counts = Readonly<Record<string, number>> | null

/** Counts nodes by a reason and by their class. */
export class RejectionCounts {
  readonly #reasons = new Map<string, number>()
  readonly #classes = new Map<string, number>()
  #total = 0
  #version = 0
  /** Cached results: every allocation of a plan reads them, and they rarely change. */
  #reasonRecord: Counts | undefined
  #classRecord: Counts | undefined

  /** Changes whenever a count does. */
  get version(): number {
    return this.#version
  }

  get total(): number {
    return this.#total
  }

  add(reason: string, nodeClass: string): void {
    this.#change(reason, nodeClass, 1)
  }

  remove(reason: string, nodeClass: string): void {
    this.#change(reason, nodeClass, -1)
  }

  /** Returns the sum of both counts. */
  plus(other: RejectionCounts): RejectionCounts {
    const sum = new RejectionCounts()
    for (const tally of [this, other]) {
      sum.#total += tally.#total
      for (const [reason, count] of tally.#reasons) addCount(sum.#reasons, reason, count)
      for (const [name, count] of tally.#classes) addCount(sum.#classes, name, count)
    }
    return sum
  }

  has(reason: string): boolean {
    return this.#reasons.has(reason)
  }

  byReason(): Counts {
    if (this.#reasonRecord === undefined) this.#reasonRecord = toSortedRecord(this.#reasons)
    return this.#reasonRecord
  }

  /** Counts by class; nodes without a class are not included. */
  byClass(): Counts {
    if (this.#classRecord === undefined) this.#classRecord = toSortedRecord(this.#classes)
    return this.#classRecord
  }

  #change(reason: string, nodeClass: string, delta: 1 | -1): void {
    this.#total += delta
    this.#version += 1
    this.#reasonRecord = undefined
    this.#classRecord = undefined
    addCount(this.#reasons, reason, delta)
    if (nodeClass !== '') addCount(this.#classes, nodeClass, delta)
  }
}

function addCount(counts: Map<string, number>, name: string, delta: number): void {
  const count = (counts.get(name) ?? 0) + delta
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}

function toSortedRecord(counts: ReadonlyMap<string, number>): Counts {
  if (counts.size === 0) return null
  return Object.fromEntries([...counts].toSorted(([a], [b]) => compareText(a, b)))
}
