import type { Job, TaskGroup } from '@reeve/contract'
import { NO_USAGE, type NodeUsage, type PublicNode, type StoredScore } from '../../model/index.ts'
import type { BaseSet } from '../feasible/base-set.ts'
import { distinctReason, type DistinctRule } from '../feasible/distinct.ts'
import type { NodeFilter } from '../feasible/node-filter.ts'
import { perAllocationVolumeCheck } from '../feasible/volume-check.ts'
import type { Proposed } from '../proposed.ts'
import type { PlacementSettings, PlacementView } from '../view.ts'
import { capacityOf, demandOn, isParticular, type GroupAsk } from './group-ask.ts'
import { NodeScores } from './node-scores.ts'
import type { NodeTable, NodeUse } from './node-table.ts'
import { missingCores, particularMissing } from './room.ts'
import { storedScore } from './score.ts'
import { Tally } from './tally.ts'
import { insertRanked, type Ranked } from './top-nodes.ts'

/** How many of the best nodes are remembered with an allocation. */
export const BEST_KEPT = 5

export interface CandidateOptions {
  readonly view: PlacementView
  readonly job: Job
  readonly group: TaskGroup
  readonly base: BaseSet
  readonly ask: GroupAsk
  readonly filter: NodeFilter
  readonly distinct: readonly DistinctRule[]
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
  readonly chosen: PublicNode | undefined
  /** Nodes refused for this placement alone, by reason. */
  readonly refused: Tally | undefined
  readonly best: readonly StoredScore[]
}

/** How a node stands. */
const FILTERED = 0
const ACCEPTED = 1
const EXHAUSTED = 2
const REFUSED = 3

/**
 * Every node that can run a group, scored. Only nodes that the plan has touched are looked at
 * again, and the choice is still that of a look at every node (`candidates.test.ts`).
 */
export class Candidates {
  readonly #options: CandidateOptions
  readonly #table: NodeTable
  readonly #use: NodeUse
  readonly #standing: Uint8Array
  /** Why a node that is exhausted or refused is. */
  readonly #why = new Map<number, string>()
  /** For each property that must be distinct, the nodes of each value. */
  readonly #sharing: readonly ReadonlyMap<string, readonly number[]>[]
  readonly #isParticular: boolean
  readonly #perIndex: ((node: PublicNode, index: number) => string | undefined) | undefined
  #changesSeen = 0
  readonly scores: NodeScores
  /** Nodes refused by a rule, by reason and by class. */
  readonly filtered = new Tally()
  /** Nodes without room, by what they lack. */
  readonly exhausted = new Tally()
  /** Classes that can run the group, and those that cannot. */
  readonly classes = new Map<string, boolean>()

  constructor(options: CandidateOptions) {
    const { view, group, base, ask, distinct } = options
    const { table } = base
    this.#options = options
    this.#table = table
    this.#use = table.usage(view)
    this.#standing = new Uint8Array(table.size)
    this.#sharing = distinct.map((rule) => nodesByValue(rule, table))
    this.#isParticular = isParticular(ask)
    const { job } = options
    this.#perIndex = perAllocationVolumeCheck(group, (id) => view.findHostVolume(job.Namespace, id))
    this.scores = new NodeScores({ ...options, table, findNode: (id) => view.findNode(id) })
    this.#follow(() => undefined)
    for (const rule of distinct) rule.flipped()
    this.#considerAll()
  }

  /** The best node for one more allocation. Among equals the lowest ID. */
  select(request: SelectionRequest): Selection {
    this.#refresh()
    const { index, penalised = NO_NODES, only } = request
    if (only !== undefined) return this.#selectOne(this.placeOf(only), index, penalised)
    if (this.#perIndex === undefined)
      return this.#selection(this.#best(penalised), penalised, undefined)
    const refused = new Tally()
    return this.#selection(this.#scan(index, penalised, refused), penalised, refused)
  }

  /** Nodes that would do if they had room. */
  exhaustedNodes(): readonly number[] {
    this.#refresh()
    const places: number[] = []
    for (let at = 0; at < this.#table.size; at++) if (this.isExhausted(at)) places.push(at)
    return places
  }

  isExhausted(at: number): boolean {
    return this.#standing[at] === EXHAUSTED
  }

  /** Why a node is refused for the allocation of this index alone. */
  reasonAt(at: number, index: number): string | undefined {
    return this.#perIndex?.(this.nodeAt(at), index)
  }

  /** −1 when the node is not in the job's pool and datacenters. */
  placeOf(nodeId: string): number {
    return this.#table.placeOf(nodeId)
  }

  nodeAt(at: number): PublicNode {
    return this.#table.nodeAt(at)
  }

  /** The rules that a class decides are asked once for each class. */
  #considerAll(): void {
    const { filter } = this.#options
    const { values, examples, codes } = this.#table.classes
    const reasons = examples.map((node) => filter.reasonFor(node))
    for (const [code, node] of examples.entries())
      this.classes.set(values[code] ?? '', !filter.refusesClass(node))
    for (let at = 0; at < codes.length; at++) {
      const code = codes[at] ?? -1
      const reason =
        filter.decidedByClass && code >= 0 ? reasons[code] : filter.reasonFor(this.nodeAt(at))
      if (reason === undefined) this.#measure(at)
      else this.filtered.add(reason, this.nodeAt(at).NodeClass)
    }
  }

  /** Looks again at the nodes that the plan has touched since. */
  #refresh(): void {
    this.#follow((at) => this.#measureAgain(at))
    for (const [i, rule] of this.#options.distinct.entries())
      for (const value of rule.flipped())
        for (const at of this.#sharing[i]?.get(value) ?? []) this.#measureAgain(at)
  }

  #measureAgain(at: number): void {
    if (this.#standing[at] !== FILTERED) this.#measure(at)
  }

  /** Takes over what the plan has changed since. */
  #follow(touched: (at: number) => void): void {
    const { changes } = this.#options.proposed
    for (; this.#changesSeen < changes.length; this.#changesSeen++) {
      const change = changes[this.#changesSeen]
      if (change === undefined) continue
      const at = this.placeOf(change.nodeId)
      this.scores.apply(change, at)
      if (at < 0) continue
      this.#load(at, change.nodeId)
      touched(at)
    }
  }

  #load(at: number, nodeId: string): void {
    const usage = this.#options.proposed.usageOn(nodeId)
    this.#use.cpuShares[at] = usage.cpuShares
    this.#use.memoryMB[at] = usage.memoryMB
    this.#use.diskMB[at] = usage.diskMB
    this.#use.special[at] = usage.cores.size + usage.ports.size + usage.devices.size > 0 ? 1 : 0
  }

  /** Ranks one feasible node. */
  #measure(at: number): void {
    const { distinct } = this.#options
    const refused = distinct.length === 0 ? undefined : distinctReason(distinct, this.nodeAt(at))
    if (refused !== undefined) return this.#setAside(at, REFUSED, refused)
    const missing = this.#missing(at)
    if (missing !== undefined) return this.#setAside(at, EXHAUSTED, missing)
    this.#forget(at)
    this.#standing[at] = ACCEPTED
    const use = {
      cpuShares: this.#use.cpuShares[at] ?? 0,
      memoryMB: this.#use.memoryMB[at] ?? 0,
    }
    this.scores.put(at, use, this.#isParticular ? this.#usageAt(at).devices : NO_USAGE.devices)
  }

  #missing(at: number): string | undefined {
    const { ask } = this.#options
    if (ask.cores > 0) {
      const cores = missingCores(this.nodeAt(at), ask, this.#usageAt(at))
      if (cores !== undefined) return cores
    }
    const [table, use] = [this.#table, this.#use]
    const { cpuShares, memoryMB } = ask.fixed ?? demandOn(ask, capacityOf(this.nodeAt(at)))
    if ((use.cpuShares[at] ?? 0) + cpuShares > (table.cpuShares[at] ?? 0)) return 'cpu'
    if ((use.memoryMB[at] ?? 0) + memoryMB > (table.memoryMB[at] ?? 0)) return 'memory'
    if ((use.diskMB[at] ?? 0) + ask.diskMB > (table.diskMB[at] ?? 0)) return 'disk'
    return this.#isParticular
      ? particularMissing(this.nodeAt(at), ask, this.#usageAt(at))
      : undefined
  }

  /** Most nodes hold nothing particular, and need not be asked what. */
  #usageAt(at: number): NodeUsage {
    return this.#use.special[at] === 0
      ? NO_USAGE
      : this.#options.proposed.usageOn(this.nodeAt(at).ID)
  }

  /** A node that is out: it is counted under its reason. */
  #setAside(at: number, standing: number, why: string): void {
    if (this.#standing[at] === standing && this.#why.get(at) === why) return
    this.#forget(at)
    this.scores.remove(at)
    this.#standing[at] = standing
    this.#why.set(at, why)
    this.#tallyOf(standing).add(why, this.nodeAt(at).NodeClass)
  }

  /** A node whose standing changes is no longer counted under its reason. */
  #forget(at: number): void {
    const why = this.#why.get(at)
    if (why === undefined) return
    this.#tallyOf(this.#standing[at]).remove(why, this.nodeAt(at).NodeClass)
    this.#why.delete(at)
  }

  #tallyOf(standing: number | undefined): Tally {
    return standing === EXHAUSTED ? this.exhausted : this.filtered
  }

  /** Penalised nodes are few, so they are taken out, scored for themselves and sorted in again. */
  #best(penalised: ReadonlySet<string>): readonly Ranked[] {
    const top = this.scores.top(BEST_KEPT + penalised.size)
    if (penalised.size === 0) return top
    const ranked = top.filter(({ node }) => !penalised.has(this.nodeAt(node).ID))
    for (const id of penalised) {
      const at = this.placeOf(id)
      if (this.#standing[at] !== ACCEPTED) continue
      insertRanked(ranked, { node: at, score: this.scores.scoreAt(at, true) }, BEST_KEPT)
    }
    return ranked
  }

  /** Looks at every node: what is asked of them depends on the allocation's index. */
  #scan(index: number, penalised: ReadonlySet<string>, refused: Tally): readonly Ranked[] {
    const ranked: Ranked[] = []
    for (let at = 0; at < this.#table.size; at++) {
      if (this.#standing[at] !== ACCEPTED) continue
      const node = this.nodeAt(at)
      const reason = this.reasonAt(at, index)
      if (reason !== undefined) {
        refused.add(reason, node.NodeClass)
        continue
      }
      const score = this.scores.scoreAt(at, penalised.has(node.ID))
      insertRanked(ranked, { node: at, score }, BEST_KEPT)
    }
    return ranked
  }

  #selectOne(at: number, index: number, penalised: ReadonlySet<string>): Selection {
    const refused = new Tally()
    if (this.#standing[at] !== ACCEPTED) return { chosen: undefined, refused, best: [] }
    const node = this.nodeAt(at)
    const reason = this.reasonAt(at, index)
    if (reason !== undefined) {
      refused.add(reason, node.NodeClass)
      return { chosen: undefined, refused, best: [] }
    }
    const score = this.scores.scoreAt(at, penalised.has(node.ID))
    return this.#selection([{ node: at, score }], penalised, undefined)
  }

  #selection(
    ranked: readonly Ranked[],
    penalised: ReadonlySet<string>,
    refused: Tally | undefined,
  ): Selection {
    const [first] = ranked
    return {
      chosen: first === undefined ? undefined : this.nodeAt(first.node),
      refused,
      best: ranked.slice(0, BEST_KEPT).map(({ node: at, score }) => {
        const { ID: id } = this.nodeAt(at)
        return storedScore(id, score, this.scores.appliedAt(at, penalised.has(id)))
      }),
    }
  }
}

const NO_NODES: ReadonlySet<string> = new Set()

function nodesByValue(
  rule: DistinctRule,
  table: NodeTable,
): ReadonlyMap<string, readonly number[]> {
  if (rule.rule !== 'distinct-property' || rule.constraint === null) return new Map()
  const { values, codes } = table.propertyOf(rule.constraint.LTarget)
  const nodes = values.map((): number[] => [])
  for (const [at, code] of codes.entries()) nodes[code]?.push(at)
  return new Map(values.map((value, code) => [value, nodes[code] ?? []]))
}
