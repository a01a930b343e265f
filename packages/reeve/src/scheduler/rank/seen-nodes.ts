import type { PlacementMetrics, ResourceTotals, TaskGroup } from '@reeve/contract'
import { bestText, metricsView, type StoredMetrics } from '../../model/index.ts'
import type { BaseSet } from '../feasible/base-set.ts'
import type { Candidates, Selection } from './candidates.ts'
import type { Tally } from './tally.ts'

/** What the selections of one group looked at. */
export class SeenNodes {
  readonly #group: TaskGroup
  readonly #base: BaseSet
  readonly #candidates: Candidates
  /** The counts as they were last told; they change less often than allocations are placed. */
  #counts: { readonly version: number; readonly metrics: StoredMetrics } | undefined

  constructor(group: TaskGroup, base: BaseSet, candidates: Candidates) {
    this.#group = group
    this.#base = base
    this.#candidates = candidates
  }

  /** For an allocation that was placed after a look at all nodes. */
  ofAll({ refused, best }: Selection, spentNs: number): StoredMetrics {
    return {
      ...(refused === undefined || refused.total === 0 ? this.#known() : this.#counted(refused)),
      ...(spentNs === 0 ? {} : { AllocationTime: spentNs }),
      ...(best.length === 0 ? {} : { Best: bestText(best) }),
    }
  }

  /** Where only one node was asked, what the others lack says nothing about the allocation. */
  ofOne({ best }: Selection, spentNs: number): StoredMetrics {
    return {
      ...this.#available(),
      NodesEvaluated: 1,
      ...(spentNs === 0 ? {} : { AllocationTime: spentNs }),
      Best: bestText(best),
    }
  }

  /** Why the group found no node, over all nodes. */
  ofFailure(selection: Selection, spentNs: number): PlacementMetrics {
    const { exhausted } = this.#candidates
    const [cpu, memory] = [exhausted.has('cpu'), exhausted.has('memory')]
    const view = metricsView(this.ofAll(selection, spentNs))
    return cpu || memory
      ? { ...view, ResourcesExhausted: askedTotals(this.#group, cpu, memory) }
      : view
  }

  #known(): StoredMetrics {
    const { filtered, exhausted } = this.#candidates
    const version = filtered.version + exhausted.version
    if (this.#counts?.version !== version)
      this.#counts = { version, metrics: this.#counted(undefined) }
    return this.#counts.metrics
  }

  /** Absent fields take no room in a stored row, so nothing is told of what there was none of. */
  #counted(refused: Tally | undefined): StoredMetrics {
    const { exhausted } = this.#candidates
    const filtered =
      refused === undefined ? this.#candidates.filtered : this.#candidates.filtered.with(refused)
    return {
      ...this.#available(),
      NodesEvaluated: this.#base.nodes.length,
      ...(filtered.total === 0
        ? {}
        : {
            NodesFiltered: filtered.total,
            ConstraintFiltered: filtered.byReason(),
            ...(filtered.byClass() === null ? {} : { ClassFiltered: filtered.byClass() }),
          }),
      ...(exhausted.total === 0
        ? {}
        : {
            NodesExhausted: exhausted.total,
            DimensionExhausted: exhausted.byReason(),
            ...(exhausted.byClass() === null ? {} : { ClassExhausted: exhausted.byClass() }),
          }),
    }
  }

  #available(): StoredMetrics {
    const { nodes, pool, byDatacenter } = this.#base
    return { NodesInPool: nodes.length, NodePool: pool, NodesAvailable: byDatacenter }
  }
}

/** What each task asks for of that which ran out. */
function askedTotals(
  group: TaskGroup,
  cpu: boolean,
  memory: boolean,
): Readonly<Record<string, ResourceTotals>> {
  const totals = group.Tasks.map(({ Name: name, Resources: asked }) => {
    const total = {
      CPU: cpu ? asked.CPU : 0,
      MemoryMB: memory ? asked.MemoryMB : 0,
      DiskMB: 0,
      Networks: null,
    }
    return [name, total] as const
  })
  return Object.fromEntries(totals)
}
