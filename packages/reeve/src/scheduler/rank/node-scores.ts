import type { Job, TaskGroup } from '@reeve/contract'
import type { NodeUsage, PublicNode } from '../../model/index.ts'
import { isSystemJob } from '../job-kind.ts'
import type { ProposedChange } from '../proposed.ts'
import type { PlacementSettings } from '../view.ts'
import { offerDevices } from './devices.ts'
import { capacityOf, demandOn, type GroupAsk } from './group-ask.ts'
import type { NodeTable } from './node-table.ts'
import { ScoreHeaps } from './score-heaps.ts'
import {
  affinityScorer,
  antiAffinityScore,
  fitScore,
  meanScore,
  onGrid,
  type Applied,
} from './score.ts'
import { Spreads } from './spread.ts'
import { topNodes, type Ranked } from './top-nodes.ts'

export interface NodeScoreOptions {
  readonly job: Job
  readonly group: TaskGroup
  readonly ask: GroupAsk
  readonly table: NodeTable
  readonly settings: PlacementSettings
  readonly findNode: (id: string) => PublicNode | undefined
}

/** As much of a node's usage as its score depends on. */
type ScoredUsage = Pick<NodeUsage, 'cpuShares' | 'memoryMB'>

/**
 * What the nodes of a table score, the best on top. A placement moves only the node that it
 * changed; what it changes for all nodes alike (the spreads) is added when the tops are compared.
 */
export class NodeScores {
  readonly #options: NodeScoreOptions
  /** Allocations of the group on each node. */
  readonly #collisions: Int32Array
  readonly #fits: Float64Array
  readonly #affinities: Float64Array | undefined
  readonly #devices: Float64Array | undefined
  readonly #spreads: Spreads
  readonly #heaps: ScoreHeaps
  /** How many parts every score has. */
  readonly #partCount: number

  constructor(options: NodeScoreOptions) {
    const { job, group, ask, table } = options
    this.#options = options
    this.#collisions = new Int32Array(table.size)
    this.#fits = new Float64Array(table.size)
    // System jobs know neither affinity nor spread.
    const affinity = isSystemJob(job) ? undefined : affinityScorer(job, group)
    const spreads = isSystemJob(job) ? [] : [...(job.Spreads ?? []), ...(group.Spreads ?? [])]
    this.#affinities = affinity && Float64Array.from(table.nodes, affinity)
    const likesDevices = ask.devices.some((device) => device.weight > 0)
    this.#devices = likesDevices ? new Float64Array(table.size) : undefined
    this.#spreads = new Spreads({ ...options, spreads })
    this.#heaps = newHeaps(this.#spreads, table.size)
    this.#partCount =
      1 + (this.#affinities === undefined ? 0 : 1) + (this.#devices === undefined ? 0 : 1)
  }

  /** Follows the plan; `at` is the node's place, −1 when it is none of the table's. */
  apply(change: ProposedChange, at: number): void {
    this.#spreads.apply(change)
    if (at >= 0 && change.group === this.#options.group.Name)
      this.#collisions[at] = (this.#collisions[at] ?? 0) + change.delta
  }

  /** Scores a node that has room. */
  put(at: number, usage: ScoredUsage, held: NodeUsage['devices']): void {
    const { ask, group } = this.#options
    const fit = this.fitAt(at, usage)
    this.#fits[at] = fit
    const crowd = antiAffinityScore(this.#collisions[at] ?? 0, group.Count)
    let sum = fit + crowd + (this.#affinities?.[at] ?? 0)
    if (this.#devices !== undefined) {
      const liked = onGrid(offerDevices(ask.devices, this.#nodeAt(at), held)?.score ?? 0)
      this.#devices[at] = liked
      sum += liked
    }
    const bucket = this.#spreads.bucketOf[at] ?? 0
    this.#heaps.place(at, 2 * bucket + (crowd === 0 ? 0 : 1), sum)
  }

  remove(at: number): void {
    this.#heaps.remove(at)
  }

  /** The best nodes, best first, among equals by ID. */
  top(wanted: number): readonly Ranked[] {
    const boosts = this.#spreads.boosts()
    // Nodes of one heap differ in their sums alone, so its order is the order of their scores.
    return topNodes(this.#heaps, wanted, (node, heap) => {
      const boost = boosts[heap >> 1] ?? 0
      const parts = this.#partCount + (heap & 1) + (boost === 0 ? 0 : 1)
      return (this.#heaps.sumOf(node) + boost) / parts
    })
  }

  scoreAt(at: number, penalised: boolean): number {
    return meanScore(this.appliedAt(at, penalised))
  }

  /** What the score of a node is made from. */
  appliedAt(at: number, penalised: boolean): Applied {
    const { group } = this.#options
    return {
      fit: this.#fits[at] ?? 0,
      devices: this.#devices?.[at],
      antiAffinity: antiAffinityScore(this.#collisions[at] ?? 0, group.Count),
      affinity: this.#affinities?.[at],
      penalised,
      spread: this.#spreads.boosts()[this.#spreads.bucketOf[at] ?? 0] ?? 0,
    }
  }

  /** How well an allocation would fit on a node of which so much is used. */
  fitAt(at: number, usage: ScoredUsage): number {
    const { ask, table, settings } = this.#options
    const demand = ask.fixed ?? demandOn(ask, capacityOf(this.#nodeAt(at)))
    const fractions = {
      freeCpu: freeShare(usage.cpuShares + demand.cpuShares, table.cpuShares[at] ?? 0),
      freeMemory: freeShare(usage.memoryMB + demand.memoryMB, table.memoryMB[at] ?? 0),
    }
    return fitScore(fractions, settings.algorithm)
  }

  #nodeAt(at: number): PublicNode {
    return this.#options.table.nodeAt(at)
  }
}

function freeShare(used: number, capacity: number): number {
  return capacity <= 0 ? 0 : 1 - used / capacity
}

/** Two for each bucket: nodes without others of the group, and nodes with some. */
function newHeaps(spreads: Spreads, size: number): ScoreHeaps {
  const members = new Int32Array(spreads.bucketCount)
  for (const bucket of spreads.bucketOf) members[bucket] = (members[bucket] ?? 0) + 1
  return new ScoreHeaps(
    size,
    [...members].flatMap((count) => [count, count]),
  )
}
