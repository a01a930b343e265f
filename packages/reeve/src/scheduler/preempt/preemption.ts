import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { NodeUsage, PublicNode, StoredScore } from '../../model/index.ts'
import type { Proposed } from '../proposed.ts'
import { BEST_KEPT, type Candidates, type SelectionRequest } from '../rank/candidates.ts'
import { offerDevices } from '../rank/devices.ts'
import type { GroupAsk } from '../rank/group-ask.ts'
import { shortages } from '../rank/room.ts'
import { meanScore, onGrid, preemptionScore, storedScore, type Applied } from '../rank/score.ts'
import type { PlacementView } from '../view.ts'
import { chooseVictims } from './choose-victims.ts'
import { usageWithout, victimsOn, type PlannedVictims, type Victim } from './victim.ts'

/**
 * To look for victims is to read the allocations of a node, so nodes are looked at so many at a
 * time, those nearest to having room first, until there are some on which victims are found.
 */
const NODES_AT_ONCE = 500
/** Beyond this many nothing is displaced: it would keep every other evaluation waiting. */
const NODES_LOOKED_AT_MAX = 2_000

export interface PreemptionOptions {
  readonly view: PlacementView
  readonly job: Job
  readonly ask: GroupAsk
  readonly candidates: Candidates
  readonly proposed: Proposed
  readonly planned: PlannedVictims
}

/** A node that has room once some of its allocations have gone. */
export interface Preempting {
  readonly node: PublicNode
  readonly victims: readonly Victim[]
  readonly best: readonly StoredScore[]
}

interface Option {
  readonly victims: readonly Victim[]
  readonly fit: number
  readonly devices: number | undefined
  readonly preemption: number
  /** How many victims the plan had when this was worked out. */
  readonly asOf: number
}

/**
 * Finds room for a group by displacing allocations of less important jobs. What was found for a
 * node holds until the plan touches the node.
 */
export class Preemption {
  readonly #options: PreemptionOptions
  readonly #available = new Map<number, readonly Victim[]>()
  /** Nodes that were looked at, with what was found. */
  readonly #found = new Map<number, Option | undefined>()
  #changesSeen = 0

  constructor(options: PreemptionOptions) {
    this.#options = options
  }

  /** The best node with the victims on it; undefined when nobody's going makes room anywhere. */
  select(request: SelectionRequest): Preempting | undefined {
    this.#forgetTouched()
    const exhausted = this.#exhausted(request)
    const known = exhausted.filter((at) => this.#found.has(at))
    const choice = this.#best(known, request)
    if (choice !== undefined) return choice
    const others = this.#byNearness(exhausted.filter((at) => !this.#found.has(at))).slice(
      0,
      Math.max(0, NODES_LOOKED_AT_MAX - known.length),
    )
    for (let from = 0; from < others.length; from += NODES_AT_ONCE) {
      const found = this.#best(others.slice(from, from + NODES_AT_ONCE), request)
      if (found !== undefined) return found
    }
    return undefined
  }

  #exhausted({ only, index }: SelectionRequest): readonly number[] {
    const { candidates } = this.#options
    const isUsable = (at: number): boolean => candidates.reasonAt(at, index) === undefined
    if (only === undefined) return candidates.exhaustedNodes().filter(isUsable)
    const at = candidates.placeOf(only)
    return candidates.isExhausted(at) && isUsable(at) ? [at] : []
  }

  #forgetTouched(): void {
    const { proposed, candidates } = this.#options
    for (; this.#changesSeen < proposed.changes.length; this.#changesSeen++) {
      const change = proposed.changes[this.#changesSeen]
      if (change !== undefined) this.#found.delete(candidates.placeOf(change.nodeId))
    }
  }

  #best(nodes: readonly number[], request: SelectionRequest): Preempting | undefined {
    const { candidates, planned } = this.#options
    for (;;) {
      const ranked = this.#ranked(nodes, request)
      const [first] = ranked
      if (first === undefined) return undefined
      if (first.option.asOf === planned.size)
        return {
          node: candidates.nodeAt(first.at),
          victims: first.option.victims,
          best: ranked.slice(0, BEST_KEPT).map(({ at, score, applied }) => {
            return storedScore(candidates.nodeAt(at).ID, score, applied)
          }),
        }
      // The plan has taken victims since, perhaps of the same groups: is this still the choice?
      this.#found.set(first.at, this.#search(first.at))
    }
  }

  #ranked(nodes: readonly number[], { penalised }: SelectionRequest) {
    const { candidates } = this.#options
    return nodes
      .flatMap((at) => {
        const option = this.#optionFor(at)
        if (option === undefined) return []
        const isPenalised = penalised?.has(candidates.nodeAt(at).ID) ?? false
        const applied: Applied = { ...candidates.scores.appliedAt(at, isPenalised), ...option }
        return [{ at, option, applied, score: meanScore(applied) }]
      })
      .toSorted((a, b) => b.score - a.score || a.at - b.at)
  }

  #optionFor(at: number): Option | undefined {
    if (!this.#found.has(at)) this.#found.set(at, this.#search(at))
    return this.#found.get(at)
  }

  #search(at: number): Option | undefined {
    const { candidates, ask, planned, proposed } = this.#options
    const node = candidates.nodeAt(at)
    const usage = this.#usageOn(node)
    const available = this.#availableOn(at, node).filter(({ row }) => !proposed.isEvicted(row))
    const plannedOf = (group: string): number => planned.countOf(group)
    const victims = chooseVictims({ node, ask, usage, available, plannedOf })
    if (victims === undefined) return undefined
    const left = usageWithout(usage, victims)
    const score = offerDevices(ask.devices, node, left.devices)?.score
    return {
      victims,
      fit: candidates.scores.fitAt(at, left),
      devices: score === undefined ? undefined : onGrid(score),
      preemption: preemptionScore(victims.map(({ priority }) => priority)),
      asOf: planned.size,
    }
  }

  #availableOn(at: number, node: PublicNode): readonly Victim[] {
    const { job, view } = this.#options
    const known = this.#available.get(at)
    if (known !== undefined) return known
    const available = victimsOn(node.ID, job, view)
    this.#available.set(at, available)
    return available
  }

  /** The smaller the missing share of what is asked, the nearer. */
  #byNearness(nodes: readonly number[]): readonly number[] {
    const { candidates, ask } = this.#options
    const missing = (node: PublicNode): number =>
      shortages(node, ask, this.#usageOn(node)).reduce(
        (sum, { asked, free }) => sum + (asked - free) / Math.max(1, asked),
        0,
      )
    return nodes
      .map((at) => ({ at, node: candidates.nodeAt(at) }))
      .map(({ at, node }) => ({ at, id: node.ID, missing: missing(node) }))
      .toSorted((a, b) => a.missing - b.missing || compareText(a.id, b.id))
      .map(({ at }) => at)
  }

  #usageOn(node: PublicNode): NodeUsage {
    return this.#options.proposed.usageOn(node.ID)
  }
}
