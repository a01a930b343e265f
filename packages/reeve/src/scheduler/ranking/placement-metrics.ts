import type { PlacementMetrics, ResourceTotals, TaskGroup } from '@reeve/contract'
import { encodeTopScores, expandMetrics, type StoredMetrics } from '../../model/index.ts'
import type { ReadyNodes } from '../feasibility/ready-nodes.ts'
import type { NodeRanker, RejectionCounts, Selection } from './node-ranker.ts'

/** Builds the placement metrics of one group. */
export class PlacementMetricsBuilder {
  readonly #group: TaskGroup
  readonly #readyNodes: ReadyNodes
  readonly #ranker: NodeRanker
  /** Cached counts; they change less often than allocations are placed. */
  #cachedCounts: { readonly version: number; readonly metrics: StoredMetrics } | undefined

  constructor(group: TaskGroup, base: ReadyNodes, candidates: NodeRanker) {
    this.#group = group
    this.#readyNodes = base
    this.#ranker = candidates
  }

  /** Metrics of an allocation for which all nodes were ranked. */
  forPlacement({ rejections, topScores }: Selection, elapsedNs: number): StoredMetrics {
    return {
      ...(rejections === undefined || rejections.total === 0
        ? this.#cachedMetrics()
        : this.#countMetrics(rejections)),
      ...(elapsedNs === 0 ? {} : { AllocationTime: elapsedNs }),
      ...(topScores.length === 0 ? {} : { Best: encodeTopScores(topScores) }),
    }
  }

  /** Metrics of an allocation with a single allowed node; counts of other nodes do not apply. */
  forSingleNode({ topScores }: Selection, elapsedNs: number): StoredMetrics {
    return {
      ...this.#available(),
      NodesEvaluated: 1,
      ...(elapsedNs === 0 ? {} : { AllocationTime: elapsedNs }),
      Best: encodeTopScores(topScores),
    }
  }

  /** Metrics of a failed placement, over all nodes. */
  forFailure(selection: Selection, elapsedNs: number): PlacementMetrics {
    const { exhaustedCounts } = this.#ranker
    const [cpu, memory] = [exhaustedCounts.has('cpu'), exhaustedCounts.has('memory')]
    const view = expandMetrics(this.forPlacement(selection, elapsedNs))
    return cpu || memory
      ? { ...view, ResourcesExhausted: exhaustedDemand(this.#group, cpu, memory) }
      : view
  }

  #cachedMetrics(): StoredMetrics {
    const { filteredCounts, exhaustedCounts } = this.#ranker
    const version = filteredCounts.version + exhaustedCounts.version
    if (this.#cachedCounts?.version !== version)
      this.#cachedCounts = { version, metrics: this.#countMetrics(undefined) }
    return this.#cachedCounts.metrics
  }

  /** Counts of filtered and exhausted nodes; zero counts are omitted to keep stored rows small. */
  #countMetrics(rejections: RejectionCounts | undefined): StoredMetrics {
    const { exhaustedCounts } = this.#ranker
    const filtered =
      rejections === undefined
        ? this.#ranker.filteredCounts
        : this.#ranker.filteredCounts.plus(rejections)
    return {
      ...this.#available(),
      NodesEvaluated: this.#readyNodes.nodes.length,
      ...(filtered.total === 0
        ? {}
        : {
            NodesFiltered: filtered.total,
            ConstraintFiltered: filtered.byReason(),
            ...(filtered.byClass() === null ? {} : { ClassFiltered: filtered.byClass() }),
          }),
      ...(exhaustedCounts.total === 0
        ? {}
        : {
            NodesExhausted: exhaustedCounts.total,
            DimensionExhausted: exhaustedCounts.byReason(),
            ...(exhaustedCounts.byClass() === null
              ? {}
              : { ClassExhausted: exhaustedCounts.byClass() }),
          }),
    }
  }

  #available(): StoredMetrics {
    const { nodes, pool, countByDatacenter } = this.#readyNodes
    return { NodesInPool: nodes.length, NodePool: pool, NodesAvailable: countByDatacenter }
  }
}

/** Demand of each task in the exhausted dimensions. */
function exhaustedDemand(
  group: TaskGroup,
  cpu: boolean,
  memory: boolean,
): Readonly<Record<string, ResourceTotals>> {
  const totals = group.Tasks.map(({ Name: name, Resources: resources }) => {
    const total = {
      CPU: cpu ? resources.CPU : 0,
      MemoryMB: memory ? resources.MemoryMB : 0,
      DiskMB: 0,
      Networks: null,
    }
    return [name, total] as const
  })
  return Object.fromEntries(totals)
}
