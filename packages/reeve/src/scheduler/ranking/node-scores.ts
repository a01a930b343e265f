import type { Job, Spread, TaskGroup } from '@reeve/contract'
import { type NodeUsage, type PublicNode, targetReader } from '../../model/index.ts'
import { isSystemJob, type PlacementSettings } from '../cluster-view.ts'
import type { ProposedChange } from '../proposed-state.ts'
import { assignDevices } from '../resources/device-allocator.ts'
import { capacityOf, demandOnNode, type GroupRequirements } from '../resources/resource-fit.ts'
import type { NodeTable } from '../feasibility/ready-nodes.ts'
import { type RankedNode, ScoreHeaps, topNodes } from './score-heaps.ts'
import {
  affinityScorer,
  antiAffinityScore,
  binPackScore,
  meanScore,
  quantize,
  type ScoreComponents,
} from './score.ts'

interface NodeScoreOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly requirements: GroupRequirements
  readonly table: NodeTable
  readonly settings: PlacementSettings
  readonly findNode: (id: string) => PublicNode | undefined
}

/** The part of the usage that affects the score. */
type ScoredUsage = Pick<NodeUsage, 'cpuShares' | 'memoryMB'>

/**
 * Scores of the nodes of a table, in heaps. A placement moves only the node that it changed; spread
 * scores, which change for whole buckets, are added when the heaps are merged.
 */
export class NodeScores {
  readonly #options: NodeScoreOptions
  /** Number of allocations of the group on each node. */
  readonly #collisions: Int32Array
  readonly #fitScores: Float64Array
  readonly #affinityScores: Float64Array | undefined
  readonly #deviceScores: Float64Array | undefined
  readonly #spreadScorer: SpreadScorer
  readonly #heaps: ScoreHeaps
  /** Number of components that every score has. */
  readonly #componentCount: number

  constructor(options: NodeScoreOptions) {
    const { job, group, requirements, table } = options
    this.#options = options
    this.#collisions = new Int32Array(table.size)
    this.#fitScores = new Float64Array(table.size)
    // System jobs have no affinities or spreads.
    const affinity = isSystemJob(job) ? undefined : affinityScorer(job, group)
    const spreads = isSystemJob(job) ? [] : [...(job.Spreads ?? []), ...(group.Spreads ?? [])]
    this.#affinityScores = affinity && Float64Array.from(table.nodes, affinity)
    const hasDeviceAffinity = requirements.devices.some((device) => device.totalAffinityWeight > 0)
    this.#deviceScores = hasDeviceAffinity ? new Float64Array(table.size) : undefined
    this.#spreadScorer = new SpreadScorer({ ...options, spreads })
    this.#heaps = newHeaps(this.#spreadScorer, table.size)
    this.#componentCount =
      1 + (this.#affinityScores === undefined ? 0 : 1) + (this.#deviceScores === undefined ? 0 : 1)
  }

  /** Applies a change of the plan; `at` is the table row, or −1 if the node is not in the table. */
  apply(change: ProposedChange, at: number): void {
    this.#spreadScorer.apply(change)
    if (at >= 0 && change.group === this.#options.group.Name)
      this.#collisions[at] = (this.#collisions[at] ?? 0) + change.delta
  }

  /** Scores a node that has enough capacity. */
  scoreNode(at: number, usage: ScoredUsage, devicesInUse: NodeUsage['devices']): void {
    const { requirements, group } = this.#options
    const fit = this.fitAt(at, usage)
    this.#fitScores[at] = fit
    const antiAffinity = antiAffinityScore(this.#collisions[at] ?? 0, group.Count)
    let sum = fit + antiAffinity + (this.#affinityScores?.[at] ?? 0)
    if (this.#deviceScores !== undefined) {
      const deviceScore = quantize(
        assignDevices(requirements.devices, this.#nodeAt(at), devicesInUse)?.score ?? 0,
      )
      this.#deviceScores[at] = deviceScore
      sum += deviceScore
    }
    const bucket = this.#spreadScorer.bucketOf[at] ?? 0
    this.#heaps.put(at, 2 * bucket + (antiAffinity === 0 ? 0 : 1), sum)
  }

  remove(at: number): void {
    this.#heaps.remove(at)
  }

  /** Returns the best nodes, best first; ties are ordered by ID. */
  topNodes(limit: number): readonly RankedNode[] {
    const spreadScores = this.#spreadScorer.bucketScores()
    // Within a heap, the order by sum is the order by score.
    return topNodes(this.#heaps, limit, (node, heap) => {
      const spreadScore = spreadScores[heap >> 1] ?? 0
      const componentCount = this.#componentCount + (heap & 1) + (spreadScore === 0 ? 0 : 1)
      return (this.#heaps.sumOf(node) + spreadScore) / componentCount
    })
  }

  scoreAt(at: number, isPenalised: boolean): number {
    return meanScore(this.componentsAt(at, isPenalised))
  }

  /** Components of the score of a node. */
  componentsAt(at: number, isPenalised: boolean): ScoreComponents {
    const { group } = this.#options
    return {
      fit: this.#fitScores[at] ?? 0,
      devices: this.#deviceScores?.[at],
      antiAffinity: antiAffinityScore(this.#collisions[at] ?? 0, group.Count),
      affinity: this.#affinityScores?.[at],
      isPenalised,
      spread: this.#spreadScorer.bucketScores()[this.#spreadScorer.bucketOf[at] ?? 0] ?? 0,
    }
  }

  /** Bin-packing score of an allocation on a node with the given usage. */
  fitAt(at: number, usage: ScoredUsage): number {
    const { requirements, table, settings } = this.#options
    const demand =
      requirements.nodeIndependentDemand ?? demandOnNode(requirements, capacityOf(this.#nodeAt(at)))
    const fractions = {
      freeCpu: freeShare(usage.cpuShares + demand.cpuShares, table.cpuShares[at] ?? 0),
      freeMemory: freeShare(usage.memoryMB + demand.memoryMB, table.memoryMB[at] ?? 0),
    }
    return binPackScore(fractions, settings.algorithm)
  }

  #nodeAt(at: number): PublicNode {
    return this.#options.table.nodeAt(at)
  }
}

function freeShare(used: number, capacity: number): number {
  return capacity <= 0 ? 0 : 1 - used / capacity
}

/** Two heaps per spread bucket: nodes without and with other allocations of the group. */
function newHeaps(spreadScorer: SpreadScorer, size: number): ScoreHeaps {
  const nodeCounts = new Int32Array(spreadScorer.bucketCount)
  for (const bucket of spreadScorer.bucketOf) nodeCounts[bucket] = (nodeCounts[bucket] ?? 0) + 1
  return new ScoreHeaps(
    size,
    [...nodeCounts].flatMap((count) => [count, count]),
  )
}

/** Target value that matches all values without a target of their own. */
const ANY_VALUE = '*'

interface SpreadOptions {
  /** Spreads of the job and of the group. */
  readonly spreads: readonly Spread[]
  readonly group: TaskGroup
  readonly table: NodeTable
  readonly findNode: (id: string) => PublicNode | undefined
}

/**
 * Scores nodes by the spreads of a job and one of its groups. Nodes with equal values form a
 * bucket, which is scored once.
 */
export class SpreadScorer {
  readonly #group: string
  readonly #rules: readonly SpreadRule[]
  readonly #findNode: (id: string) => PublicNode | undefined
  /** Bucket of each table row. */
  readonly bucketOf: Int32Array
  /** Value ID of each bucket in each rule; −1 if its nodes have no value. */
  readonly #buckets: (readonly number[])[] = []
  #scores: Float64Array | undefined

  constructor({ spreads, group, table, findNode }: SpreadOptions) {
    const weight = spreads.reduce((sum, spread) => sum + spread.Weight, 0)
    this.#group = group.Name
    this.#findNode = findNode
    this.#rules = spreads.map(
      (spread) => new SpreadRule(spread, group.Count, spread.Weight / Math.max(1, weight)),
    )
    this.bucketOf = this.#assignBuckets(table)
  }

  get bucketCount(): number {
    return this.#buckets.length
  }

  /** Applies a change of the plan. */
  apply({ nodeId, group, delta }: ProposedChange): void {
    if (group !== this.#group || this.#rules.length === 0) return
    const node = this.#findNode(nodeId)
    if (node === undefined) return
    for (const rule of this.#rules) rule.add(node, delta)
    this.#scores = undefined
  }

  /** Spread score of each bucket; 0 does not apply. */
  bucketScores(): Float64Array {
    if (this.#scores !== undefined) return this.#scores
    for (const rule of this.#rules) rule.recompute()
    const scores = new Float64Array(this.#buckets.length)
    for (let bucket = 0; bucket < scores.length; bucket++) scores[bucket] = this.#scoreOf(bucket)
    this.#scores = scores
    return scores
  }

  #scoreOf(bucket: number): number {
    const values = this.#buckets[bucket] ?? []
    let sum = 0
    for (let i = 0; i < values.length; i++) sum += this.#rules[i]?.scoreOf(values[i] ?? -1) ?? 0
    return quantize(sum)
  }

  /** Splits the nodes into buckets, one rule after the other. */
  #assignBuckets(table: NodeTable): Int32Array {
    const bucketOf = new Int32Array(table.size)
    this.#buckets.push([])
    for (const rule of this.#rules) {
      const { valueIds, values } = table.propertyOf(rule.attribute)
      rule.registerValues(values)
      const previousBuckets = this.#buckets.splice(0)
      const bucketByKey = new Map<number, number>()
      for (let at = 0; at < bucketOf.length; at++) {
        const [previous, valueId] = [bucketOf[at] ?? 0, valueIds[at] ?? -1]
        const key = previous * (values.length + 1) + valueId + 1
        const bucket =
          bucketByKey.get(key) ??
          this.#buckets.push([...(previousBuckets[previous] ?? []), valueId]) - 1
        bucketByKey.set(key, bucket)
        bucketOf[at] = bucket
      }
    }
    return bucketOf
  }
}

/** One spread, with the number of allocations of the group per value. */
class SpreadRule {
  readonly attribute: string
  readonly #valueOf: (node: PublicNode) => string | undefined
  readonly #count: number
  readonly #weight: number
  /** Desired number of allocations per value; undefined for an even spread. */
  readonly #desiredCounts: ReadonlyMap<string, number> | undefined
  readonly #valueIds = new Map<string, number>()
  readonly #values: { readonly desired: number | undefined; used: number; boost: number }[] = []

  constructor(spread: Spread, count: number, share: number) {
    this.attribute = spread.Attribute
    this.#valueOf = targetReader(spread.Attribute)
    this.#count = count
    this.#weight = share
    this.#desiredCounts = this.#computeDesiredCounts(spread)
  }

  /** Assigns IDs to values in order; values that appear later get the next ones. */
  registerValues(values: readonly string[]): void {
    for (const value of values) this.#valueIdOf(value)
  }

  #valueIdOf(value: string): number {
    const existing = this.#valueIds.get(value)
    if (existing !== undefined) return existing
    const desired = this.#desiredCounts?.get(value) ?? this.#desiredCounts?.get(ANY_VALUE)
    const id = this.#values.push({ desired, used: 0, boost: 0 }) - 1
    this.#valueIds.set(value, id)
    return id
  }

  add(node: PublicNode, delta: number): void {
    const name = this.#valueOf(node)
    const value = name === undefined ? undefined : this.#values[this.#valueIdOf(name)]
    if (value !== undefined) value.used += delta
  }

  /** Recomputes the score of each value. */
  recompute(): void {
    if (this.#desiredCounts === undefined) this.#recomputeEven()
    else this.#recomputeTargets()
  }

  /** Score of a value; nodes without the attribute get the minimum. */
  scoreOf(valueId: number): number {
    return this.#values[valueId]?.boost ?? -1
  }

  #computeDesiredCounts({
    SpreadTarget: targets,
  }: Spread): ReadonlyMap<string, number> | undefined {
    if (targets === null || targets.length === 0) return undefined
    const desired = new Map(targets.map((t) => [t.Value, (t.Percent / 100) * this.#count]))
    const rest = 100 - targets.reduce((sum, target) => sum + target.Percent, 0)
    if (rest > 0 && !desired.has(ANY_VALUE)) desired.set(ANY_VALUE, (rest / 100) * this.#count)
    return desired
  }

  #recomputeTargets(): void {
    let lowest = -1
    for (const value of this.#values) {
      const { desired, used } = value
      if (desired === undefined || desired === 0) continue
      value.boost = ((desired - (used + 1)) / desired) * this.#weight
      lowest = Math.min(lowest, value.boost)
    }
    // A value with a target of zero never scores better than one above its target.
    for (const value of this.#values)
      if (value.desired === undefined) value.boost = -1
      else if (value.desired === 0) value.boost = lowest
  }

  /** The minimum is taken over values in use; unused values would make it zero. */
  #recomputeEven(): void {
    let min = Infinity
    let max = 0
    for (const { used } of this.#values) {
      if (used > 0 && used < min) min = used
      if (used > max) max = used
    }
    for (const value of this.#values) value.boost = evenSpreadScore(value.used, min, max)
  }
}

function evenSpreadScore(used: number, min: number, max: number): number {
  if (max === 0) return 0
  if (used !== min) return (min - used) / min
  return min === max ? -1 : (max - min) / min
}
