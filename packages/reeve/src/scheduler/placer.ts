import type { Evaluation, Job, PlacementMetrics, ResourceTotals, TaskGroup } from '@reeve/contract'
import { nsFromMs } from '../kit/duration.ts'
import {
  allocationName,
  metricsView,
  type AllocationRow,
  type PublicNode,
  type StoredMetrics,
} from '../model/index.ts'
import { baseSet, isInBaseSet, type BaseSet } from './feasible/base-set.ts'
import { distinctCheck, type DistinctCheck } from './feasible/distinct.ts'
import { nodeFilter, type NodeFilter } from './feasible/node-filter.ts'
import { isSystemJob } from './job-kind.ts'
import type { Proposed } from './proposed.ts'
import { assignResources } from './rank/assign.ts'
import { Candidates, missingOn, type Candidate, type Selection } from './rank/candidates.ts'
import { capacityOf, demandOn, groupAsk, type GroupAsk } from './rank/group-ask.ts'
import { affinityScorer } from './rank/score.ts'
import type { ClusterView, PlacementSettings, SchedulingContext } from './view.ts'

export interface PlacerOptions {
  readonly view: ClusterView
  readonly job: Job
  readonly evaluation: Evaluation
  readonly context: SchedulingContext
  readonly proposed: Proposed
}

/** One allocation to find a node for. */
export interface PlaceRequest {
  readonly group: TaskGroup
  readonly index: number
  readonly penalised?: ReadonlySet<string>
  /** Tried alone first: its data is there. */
  readonly preferred?: string
  /** No other node will do. */
  readonly only?: string
}

export type Placed =
  | { readonly ok: true; readonly row: AllocationRow }
  | { readonly ok: false; readonly metrics: PlacementMetrics }

/** What is worked out once for each group of the job. */
interface GroupWork {
  readonly ask: GroupAsk
  readonly filter: NodeFilter
  readonly distinct: DistinctCheck | undefined
  /** Made at the first placement: an evaluation that only stops looks at no node. */
  candidates?: Candidates
}

/** Finds nodes for the allocations of one job, each placement seeing those before it. */
export class Placer {
  readonly #options: PlacerOptions
  readonly #work = new Map<string, GroupWork>()
  #base: BaseSet | undefined

  constructor(options: PlacerOptions) {
    this.#options = options
  }

  /** The nodes of the job's pool and datacenters that take work. */
  get base(): BaseSet {
    this.#base ??= baseSet(this.#options.view, this.#options.job)
    return this.#base
  }

  /** Places an allocation, or says what was looked at in vain. A placed one counts for the next. */
  place(request: PlaceRequest): Placed {
    const { context, proposed } = this.#options
    const startNs = context.elapsedNs?.() ?? 0
    const candidates = this.#candidatesOf(request.group)
    const selection = select(candidates, request)
    const spentNs = (context.elapsedNs?.() ?? 0) - startNs
    if (selection.chosen === undefined)
      return { ok: false, metrics: this.#failure(request.group, selection, spentNs) }
    const metrics =
      request.only === undefined
        ? this.#metrics(candidates, selection, spentNs)
        : this.#metricsOfOne(selection)
    const row = this.#newRow(request, selection.chosen, metrics)
    proposed.place(row)
    return { ok: true, row }
  }

  /**
   * Whether an allocation could be where it is under the new version of its group, itself
   * discounted. Its ports stay its own, so they are not asked for again.
   */
  canStay(row: AllocationRow, group: TaskGroup): boolean {
    const { view, job, proposed } = this.#options
    const node = view.findNode(row.NodeID)
    if (node === undefined || !isInBaseSet(node, job)) return false
    const { ask, filter, distinct } = this.#workOf(group)
    if (filter.reasonFor(node) !== undefined) return false
    proposed.stop(row)
    const capacity = capacityOf(node)
    const demand = demandOn(ask, capacity)
    const usage = proposed.usageOn(node.ID)
    const missing = missingOn({ capacity, demand, ports: undefined }, ask, usage)
    const refused = distinct?.(node)
    proposed.restore(row)
    return missing === undefined && refused === undefined
  }

  /** Whether the node passes the rules of the group, room aside. */
  isFeasible(node: PublicNode, group: TaskGroup): boolean {
    return this.#workOf(group).filter.reasonFor(node) === undefined
  }

  /**
   * What a blocked evaluation waits for: see Evaluation `ClassEligibility` and
   * `EscapedComputedClass`.
   */
  classesOf(groups: readonly TaskGroup[]): {
    readonly escaped: boolean
    readonly eligible: ReadonlyMap<string, boolean>
  } {
    const eligible = new Map<string, boolean>()
    for (const group of groups)
      for (const [name, fits] of this.#candidatesOf(group).classes)
        eligible.set(name, fits || eligible.get(name) === true)
    return { escaped: groups.some((group) => this.#workOf(group).filter.escapesClasses), eligible }
  }

  get #settings(): PlacementSettings {
    return this.#options.view.settingsFor(this.#options.job.NodePool)
  }

  #workOf(group: TaskGroup): GroupWork {
    const { view, job, proposed } = this.#options
    let work = this.#work.get(group.Name)
    if (work === undefined) {
      const findNode = (id: string): PublicNode | undefined => view.findNode(id)
      work = {
        ask: groupAsk(group, this.#settings),
        filter: nodeFilter(job, group),
        // Every node gets a system job once, so its hosts are distinct anyway.
        distinct: isSystemJob(job) ? undefined : distinctCheck({ job, group, proposed, findNode }),
      }
      this.#work.set(group.Name, work)
    }
    return work
  }

  #candidatesOf(group: TaskGroup): Candidates {
    const { job, proposed } = this.#options
    const work = this.#workOf(group)
    work.candidates ??= new Candidates({
      ...work,
      group,
      base: this.base,
      affinity: affinityScorer(job, group),
      proposed,
      settings: this.#settings,
    })
    return work.candidates
  }

  #newRow(request: PlaceRequest, chosen: Candidate, metrics: StoredMetrics): AllocationRow {
    const { job, evaluation, context, proposed } = this.#options
    const { group, index } = request
    const { node } = chosen
    return {
      ID: context.ids.uuid(),
      Namespace: job.Namespace,
      EvalID: evaluation.ID,
      Name: allocationName(job.ID, group.Name, index),
      NodeID: node.ID,
      NodeName: node.Name,
      JobID: job.ID,
      JobType: job.Type,
      JobVersion: job.Version,
      TaskGroup: group.Name,
      DesiredStatus: 'run',
      ClientStatus: 'pending',
      AllocatedResources: assignResources({
        group,
        ask: this.#workOf(group).ask,
        candidate: chosen,
        usage: proposed.usageOn(node.ID),
        random: context.random,
      }),
      Metrics: metrics,
      CreateIndex: 0,
      ModifyIndex: 0,
      AllocModifyIndex: 0,
      CreateTime: nsFromMs(context.nowMs),
      ModifyTime: nsFromMs(context.nowMs),
    }
  }

  /** Scheduling reference §9.6: what this selection looked at. */
  #metrics(candidates: Candidates, { refused, best }: Selection, spentNs: number): StoredMetrics {
    const filtered = candidates.filtered.with(refused)
    const { exhausted } = candidates
    return definedOnly({
      ...this.#seen(),
      NodesEvaluated: this.base.nodes.length,
      NodesFiltered: filtered.total || undefined,
      ConstraintFiltered: filtered.byReason(),
      ClassFiltered: filtered.byClass(),
      NodesExhausted: exhausted.total || undefined,
      DimensionExhausted: exhausted.byReason(),
      ClassExhausted: exhausted.byClass(),
      AllocationTime: spentNs || undefined,
      Best: best.length === 0 ? undefined : best,
    })
  }

  /** Where only one node was asked, what the others lack says nothing about the allocation. */
  #metricsOfOne({ best }: Selection): StoredMetrics {
    return { ...this.#seen(), NodesEvaluated: 1, Best: best }
  }

  #seen() {
    const { nodes, pool, byDatacenter } = this.base
    return { NodesInPool: nodes.length, NodePool: pool, NodesAvailable: byDatacenter }
  }

  /** Why the group found no node, over all nodes. */
  #failure(group: TaskGroup, selection: Selection, spentNs: number): PlacementMetrics {
    const candidates = this.#candidatesOf(group)
    const { exhausted } = candidates
    const [cpu, memory] = [exhausted.has('cpu'), exhausted.has('memory')]
    const view = metricsView(this.#metrics(candidates, selection, spentNs))
    return cpu || memory ? { ...view, ResourcesExhausted: askedTotals(group, cpu, memory) } : view
  }
}

function select(candidates: Candidates, request: PlaceRequest): Selection {
  const { index, penalised, preferred, only } = request
  const wanted = { index, ...(penalised === undefined ? {} : { penalised }) }
  if (only !== undefined) return candidates.select({ ...wanted, only })
  if (preferred !== undefined) {
    const selection = candidates.select({ ...wanted, only: preferred })
    if (selection.chosen !== undefined) return selection
  }
  return candidates.select(wanted)
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

type Defined<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> }

/**
 * Absent fields take no room in a stored row; undefined ones would not compare equal to absent
 * ones.
 */
function definedOnly<T extends object>(value: T): Partial<Defined<T>> {
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  // Fields of `value`, those that are undefined left out.
  return Object.fromEntries(entries) as Partial<Defined<T>>
}
