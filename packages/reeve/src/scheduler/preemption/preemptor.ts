import type { Job, PreemptionConfig } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  DEFAULT_SCHEDULER_CONFIGURATION,
  type NodeUsage,
  type PublicNode,
  type StoredScore,
} from '../../model/index.ts'
import type { ProposedState } from '../proposed-state.ts'
import { TOP_SCORES_KEPT, type NodeRanker, type SelectionRequest } from '../ranking/node-ranker.ts'
import { assignDevices } from '../resources/device-allocator.ts'
import { exhaustedDimensions, type GroupRequirements } from '../resources/resource-fit.ts'
import {
  meanScore,
  quantize,
  preemptionScore,
  storedScore,
  type ScoreComponents,
} from '../ranking/score.ts'
import type { PlacementSettings, PlacementView } from '../cluster-view.ts'
import { chooseVictims } from './choose-victims.ts'
import { usageWithout, preemptibleOn, type PlannedVictims, type Victim } from './victim.ts'

/**
 * Nodes examined per batch, nearest to fitting first. Examining a node reads all its allocations,
 * so the search stops at the first batch with a result.
 */
const NODES_PER_BATCH = 500
/** Maximum number of nodes examined: a longer search would delay all other evaluations. */
const NODES_EXAMINED_MAX = 2_000

interface PreemptionOptions {
  readonly view: PlacementView
  readonly job: Job
  readonly requirements: GroupRequirements
  readonly ranker: NodeRanker
  readonly proposed: ProposedState
  readonly plannedVictims: PlannedVictims
}

/** A node with the allocations to preempt on it. */
export interface PreemptionResult {
  readonly node: PublicNode
  readonly victims: readonly Victim[]
  readonly topScores: readonly StoredScore[]
}

interface NodeOption {
  readonly victims: readonly Victim[]
  readonly fit: number
  readonly devices: number | undefined
  readonly preemption: number
  /** Number of planned victims when the option was computed. */
  readonly plannedVictimCount: number
}

/**
 * Finds capacity for a group by preempting allocations of lower priority. Results per node are
 * cached until the plan changes the node.
 */
export class Preemptor {
  readonly #options: PreemptionOptions
  readonly #preemptible = new Map<number, readonly Victim[]>()
  /** Results by table row; undefined if preemption on the node does not help. */
  readonly #optionCache = new Map<number, NodeOption | undefined>()
  #changesApplied = 0

  constructor(options: PreemptionOptions) {
    this.#options = options
  }

  /** Returns the best node with its victims; undefined if preemption does not help on any node. */
  select(request: SelectionRequest): PreemptionResult | undefined {
    this.#invalidate()
    const exhausted = this.#exhaustedNodes(request)
    const examined = exhausted.filter((at) => this.#optionCache.has(at))
    const best = this.#chooseBest(examined, request)
    if (best !== undefined) return best
    const unexamined = this.#byNearness(exhausted.filter((at) => !this.#optionCache.has(at))).slice(
      0,
      Math.max(0, NODES_EXAMINED_MAX - examined.length),
    )
    for (let from = 0; from < unexamined.length; from += NODES_PER_BATCH) {
      const result = this.#chooseBest(unexamined.slice(from, from + NODES_PER_BATCH), request)
      if (result !== undefined) return result
    }
    return undefined
  }

  #exhaustedNodes({ onlyNodeId, index }: SelectionRequest): readonly number[] {
    const { ranker } = this.#options
    const isUsable = (at: number): boolean => ranker.rejectionAt(at, index) === undefined
    if (onlyNodeId === undefined) return ranker.exhaustedNodes().filter(isUsable)
    const at = ranker.rowOf(onlyNodeId)
    return ranker.isExhausted(at) && isUsable(at) ? [at] : []
  }

  #invalidate(): void {
    const { proposed, ranker } = this.#options
    for (; this.#changesApplied < proposed.changes.length; this.#changesApplied++) {
      const change = proposed.changes[this.#changesApplied]
      if (change !== undefined) this.#optionCache.delete(ranker.rowOf(change.nodeId))
    }
  }

  #chooseBest(nodes: readonly number[], request: SelectionRequest): PreemptionResult | undefined {
    const { ranker, plannedVictims } = this.#options
    for (;;) {
      const ranked = this.#rankOptions(nodes, request)
      const [first] = ranked
      if (first === undefined) return undefined
      if (first.option.plannedVictimCount === plannedVictims.count)
        return {
          node: ranker.nodeAt(first.at),
          victims: first.option.victims,
          topScores: ranked.slice(0, TOP_SCORES_KEPT).map(({ at, score, applied }) => {
            return storedScore(ranker.nodeAt(at).ID, score, applied)
          }),
        }
      // The plan has added victims since, perhaps of the same groups, so the option is recomputed.
      this.#optionCache.set(first.at, this.#findVictims(first.at))
    }
  }

  #rankOptions(nodes: readonly number[], { penaltyNodeIds }: SelectionRequest) {
    const { ranker } = this.#options
    return nodes
      .flatMap((at) => {
        const option = this.#optionFor(at)
        if (option === undefined) return []
        const isPenalised = penaltyNodeIds?.has(ranker.nodeAt(at).ID) ?? false
        const components: ScoreComponents = {
          ...ranker.scores.componentsAt(at, isPenalised),
          ...option,
        }
        return [{ at, option, applied: components, score: meanScore(components) }]
      })
      .toSorted((a, b) => b.score - a.score || a.at - b.at)
  }

  #optionFor(at: number): NodeOption | undefined {
    if (!this.#optionCache.has(at)) this.#optionCache.set(at, this.#findVictims(at))
    return this.#optionCache.get(at)
  }

  #findVictims(at: number): NodeOption | undefined {
    const { ranker, requirements, plannedVictims, proposed } = this.#options
    const node = ranker.nodeAt(at)
    const usage = this.#usageOn(node)
    const preemptible = this.#preemptibleOn(at, node).filter(({ row }) => !proposed.isEvicted(row))
    const plannedOf = (group: string): number => plannedVictims.countOf(group)
    const victims = chooseVictims({ node, requirements, usage, candidates: preemptible, plannedOf })
    if (victims === undefined) return undefined
    const remainingUsage = usageWithout(usage, victims)
    const score = assignDevices(requirements.devices, node, remainingUsage.devices)?.score
    return {
      victims,
      fit: ranker.scores.fitAt(at, remainingUsage),
      devices: score === undefined ? undefined : quantize(score),
      preemption: preemptionScore(victims.map(({ priority }) => priority)),
      plannedVictimCount: plannedVictims.count,
    }
  }

  #preemptibleOn(at: number, node: PublicNode): readonly Victim[] {
    const { job, view } = this.#options
    const cached = this.#preemptible.get(at)
    if (cached !== undefined) return cached
    const preemptible = preemptibleOn(node.ID, job, view)
    this.#preemptible.set(at, preemptible)
    return preemptible
  }

  /** Sorts nodes by the missing share of the requirements, smallest first. */
  #byNearness(nodes: readonly number[]): readonly number[] {
    const { ranker, requirements } = this.#options
    const missingShare = (node: PublicNode): number =>
      exhaustedDimensions(node, requirements, this.#usageOn(node)).reduce(
        (sum, { required, free }) => sum + (required - free) / Math.max(1, required),
        0,
      )
    return nodes
      .map((at) => ({ at, node: ranker.nodeAt(at) }))
      .map(({ at, node }) => ({ at, id: node.ID, missing: missingShare(node) }))
      .toSorted((a, b) => a.missing - b.missing || compareText(a.id, b.id))
      .map(({ at }) => at)
  }

  #usageOn(node: PublicNode): NodeUsage {
    return this.#options.proposed.usageOn(node.ID)
  }
}

const PREEMPTION_DEFAULTS = DEFAULT_SCHEDULER_CONFIGURATION.PreemptionConfig

/** Preemption setting by job type. */
const SETTING_BY_JOB_TYPE: Readonly<Record<string, keyof PreemptionConfig>> = {
  system: 'SystemSchedulerEnabled',
  sysbatch: 'SysBatchSchedulerEnabled',
  batch: 'BatchSchedulerEnabled',
  service: 'ServiceSchedulerEnabled',
}

export function preemptionSetting({ Type: type }: Pick<Job, 'Type'>): keyof PreemptionConfig {
  return SETTING_BY_JOB_TYPE[type] ?? 'ServiceSchedulerEnabled'
}

/** True if jobs of this type may preempt others of lower priority. */
export function canPreempt(job: Job, { preemption }: PlacementSettings): boolean {
  return (preemption ?? PREEMPTION_DEFAULTS)[preemptionSetting(job)]
}

/** Settings with preemption enabled for the type of the job. */
export function enablePreemption(job: Job, { preemption }: PlacementSettings): PreemptionConfig {
  return { ...PREEMPTION_DEFAULTS, ...preemption, [preemptionSetting(job)]: true }
}
