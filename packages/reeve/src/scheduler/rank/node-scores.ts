import type { Job, TaskGroup } from '@reeve/contract'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import { isSystemJob } from '../job-kind.ts'
import type { ProposedChange } from '../proposed.ts'
import type { PlacementSettings } from '../view.ts'
import { assignDevices } from './devices.ts'
import { capacityOf, demandOnNode, type GroupRequirements } from './group-ask.ts'
import type { NodeTable } from './node-table.ts'
import { ScoreHeaps } from './score-heaps.ts'
import {
  affinityScorer,
  antiAffinityScore,
  binPackScore,
  meanScore,
  quantize,
  type ScoreComponents,
} from './score.ts'
import { SpreadScorer } from './spread.ts'
import { topNodes, type RankedNode } from './top-nodes.ts'

export interface NodeScoreOptions {
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
