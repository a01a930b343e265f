import type { TaskGroup } from '@reeve/contract'
import type { NodeUsage, PublicNode, StoredScore } from '../../model/index.ts'
import type { BaseSet } from '../feasible/base-set.ts'
import type { DistinctCheck } from '../feasible/distinct.ts'
import type { NodeFilter } from '../feasible/node-filter.ts'
import { perAllocationVolumeCheck } from '../feasible/volume-check.ts'
import type { Proposed } from '../proposed.ts'
import type { PlacementSettings } from '../view.ts'
import { capacityOf, demandOn, freeCores, type GroupAsk, type NodeCapacity } from './group-ask.ts'
import { portProblem, portTable, type PortTable } from './ports.ts'
import {
  antiAffinityScore,
  fitScore,
  meanScore,
  rounded,
  scoreParts,
  type Applied,
} from './score.ts'
import { Tally } from './tally.ts'

/** How many of the best nodes are remembered with an allocation (scheduling reference §9.6). */
const BEST_KEPT = 5

export interface Candidate {
  readonly node: PublicNode
  readonly capacity: NodeCapacity
  readonly demand: { readonly cpuShares: number; readonly memoryMB: number }
  readonly ports: PortTable | undefined
  readonly affinity: number | undefined
  /** What is missing on the node; undefined when the allocation fits. */
  exhausted: string | undefined
  fit: number
  antiAffinity: number
  /** The mean of what applies on every placement; a penalty comes on top. */
  score: number
}

export interface CandidateOptions {
  readonly group: TaskGroup
  readonly base: BaseSet
  readonly ask: GroupAsk
  readonly filter: NodeFilter
  readonly distinct: DistinctCheck | undefined
  readonly affinity: ((node: PublicNode) => number) | undefined
  readonly proposed: Proposed
  readonly settings: PlacementSettings
}

/** What is asked of one selection. */
export interface SelectionRequest {
  /** Index in the name of the allocation. */
  readonly index: number
  /** Nodes to avoid: the allocation failed there before. */
  readonly penalised?: ReadonlySet<string>
  /** Only this node. */
  readonly only?: string
}

export interface Selection {
  /** Undefined: no node can take it. */
  readonly chosen: Candidate | undefined
  /** Nodes refused for this placement alone, by reason. */
  readonly refused: Tally
  readonly best: readonly StoredScore[]
}

/**
 * Every node that can run a group, scored. Of all of them only those are looked at again on which
 * the plan changed something, so a placement costs one pass over numbers.
 */
export class Candidates {
  readonly #options: CandidateOptions
  readonly #perIndex: ((node: PublicNode, index: number) => string | undefined) | undefined
  readonly #byId = new Map<string, Candidate>()
  readonly #all: Candidate[] = []
  #changesSeen: number
  /** Nodes refused whatever is placed, by reason and by class. */
  readonly filtered = new Tally()
  /** Nodes without room, by what they lack. */
  readonly exhausted = new Tally()
  /** Classes that can run the group, and those that cannot. */
  readonly classes = new Map<string, boolean>()

  constructor(options: CandidateOptions) {
    this.#options = options
    this.#perIndex = perAllocationVolumeCheck(options.group)
    for (const node of options.base.nodes) this.#consider(node)
    this.#changesSeen = options.proposed.changes.length
  }

  /** The best node for one more allocation. Among equals the lowest ID. */
  select(request: SelectionRequest): Selection {
    this.#refresh()
    const refused = new Tally()
    const best: Ranked[] = []
    for (const candidate of this.#askedFor(request.only)) {
      if (candidate.exhausted !== undefined) continue
      const reason = this.#reasonNow(candidate.node, request.index)
      if (reason !== undefined) refused.add(reason, candidate.node.NodeClass)
      else insert(best, candidate, request.penalised?.has(candidate.node.ID) ?? false)
    }
    return { chosen: best[0]?.candidate, refused, best: best.map(storedScore) }
  }

  #askedFor(only: string | undefined): readonly Candidate[] {
    if (only === undefined) return this.#all
    const candidate = this.#byId.get(only)
    return candidate === undefined ? [] : [candidate]
  }

  #consider(node: PublicNode): void {
    const { filter, ask, affinity } = this.#options
    if (node.ComputedClass !== '') {
      const fits = !filter.refusesClass(node)
      this.classes.set(node.ComputedClass, fits || this.classes.get(node.ComputedClass) === true)
    }
    const reason = filter.reasonFor(node)
    if (reason !== undefined) {
      this.filtered.add(reason, node.NodeClass)
      return
    }
    const candidate = newCandidate(node, ask, affinity?.(node))
    this.#byId.set(node.ID, candidate)
    this.#all.push(candidate)
    this.#measure(candidate)
  }

  /** Looks again at the nodes that the plan has touched since. */
  #refresh(): void {
    const { changes } = this.#options.proposed
    for (; this.#changesSeen < changes.length; this.#changesSeen++) {
      const candidate = this.#byId.get(changes[this.#changesSeen]?.nodeId ?? '')
      if (candidate !== undefined) this.#measure(candidate)
    }
  }

  #measure(candidate: Candidate): void {
    const { group, proposed, settings, ask } = this.#options
    const { node, capacity, demand } = candidate
    const usage = proposed.usageOn(node.ID)
    if (candidate.exhausted !== undefined)
      this.exhausted.remove(candidate.exhausted, node.NodeClass)
    candidate.exhausted = missingOn(candidate, ask, usage)
    if (candidate.exhausted !== undefined) this.exhausted.add(candidate.exhausted, node.NodeClass)
    const freeCpu = freeShare(usage.cpuShares + demand.cpuShares, capacity.cpuShares)
    const freeMemory = freeShare(usage.memoryMB + demand.memoryMB, capacity.memoryMB)
    candidate.fit = fitScore({ freeCpu, freeMemory }, settings.algorithm)
    const collisions = proposed.countOn(node.ID, group.Name)
    candidate.antiAffinity = antiAffinityScore(collisions, group.Count)
    candidate.score = meanScore(applied(candidate, false))
  }

  #reasonNow(node: PublicNode, index: number): string | undefined {
    return this.#options.distinct?.(node) ?? this.#perIndex?.(node, index)
  }
}

function newCandidate(node: PublicNode, ask: GroupAsk, affinity: number | undefined): Candidate {
  const capacity = capacityOf(node)
  return {
    node,
    capacity,
    demand: demandOn(ask, capacity),
    ports: ask.ports.length === 0 ? undefined : portTable(node),
    affinity,
    exhausted: undefined,
    fit: 0,
    antiAffinity: 0,
    score: 0,
  }
}

/** Scheduling reference §9.4: the first dimension in which the node has too little. */
export function missingOn(
  { capacity, demand, ports }: Pick<Candidate, 'capacity' | 'demand' | 'ports'>,
  ask: GroupAsk,
  usage: NodeUsage,
): string | undefined {
  if (usage.cpuShares + demand.cpuShares > capacity.cpuShares) return 'cpu'
  if (usage.memoryMB + demand.memoryMB > capacity.memoryMB) return 'memory'
  if (usage.diskMB + ask.diskMB > capacity.diskMB) return 'disk'
  if (ask.cores > 0 && freeCores(capacity, usage.cores).length < ask.cores) return 'cores'
  return ports === undefined ? undefined : portProblem(ask.ports, ports, usage)
}

function freeShare(used: number, capacity: number): number {
  return capacity <= 0 ? 0 : 1 - used / capacity
}

interface Ranked {
  readonly candidate: Candidate
  readonly penalised: boolean
  readonly score: number
}

function applied({ fit, antiAffinity, affinity }: Candidate, penalised: boolean): Applied {
  return { fit, antiAffinity, affinity, penalised }
}

/** Keeps the best few, best first. Candidates come by ID, so an equal one goes behind. */
function insert(best: Ranked[], candidate: Candidate, penalised: boolean): void {
  const score = penalised ? meanScore(applied(candidate, true)) : candidate.score
  const last = best[BEST_KEPT - 1]
  if (last !== undefined && score <= last.score) return
  let at = best.length
  while (at > 0 && score > (best[at - 1]?.score ?? Infinity)) at -= 1
  best.splice(at, 0, { candidate, penalised, score })
  if (best.length > BEST_KEPT) best.pop()
}

function storedScore({ candidate, penalised, score }: Ranked): StoredScore {
  const parts = scoreParts(applied(candidate, penalised))
  const total = rounded(score)
  return Object.keys(parts).length === 1
    ? [candidate.node.ID, total]
    : [candidate.node.ID, total, parts]
}
