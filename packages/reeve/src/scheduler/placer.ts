import type {
  AllocatedResources,
  Evaluation,
  Job,
  PlacementMetrics,
  TaskGroup,
} from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  allocationName,
  type AllocationRow,
  type PublicNode,
  type StoredMetrics,
} from '../model/index.ts'
import { baseSet, isInBaseSet, type BaseSet } from './feasible/base-set.ts'
import { distinctReason, distinctRules, type DistinctRule } from './feasible/distinct.ts'
import { nodeFilter, type NodeFilter } from './feasible/node-filter.ts'
import { singleWriterRules } from './feasible/single-writer.ts'
import type { NodeRule } from './feasible/node-rules.ts'
import { canPreempt } from './preempt/can-preempt.ts'
import { Preemption, type Preempting } from './preempt/preemption.ts'
import { PlannedVictims, type Victim } from './preempt/victim.ts'
import type { Proposed } from './proposed.ts'
import { assignResources } from './rank/assign.ts'
import { Candidates, type Selection } from './rank/candidates.ts'
import { groupAsk, isParticular, type GroupAsk } from './rank/group-ask.ts'
import { missingOn } from './rank/room.ts'
import { SeenNodes } from './rank/seen-nodes.ts'
import type { PlacementView, PlacementSettings, SchedulingContext } from './view.ts'

export interface PlacerOptions {
  readonly view: PlacementView
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
  | {
      readonly ok: true
      readonly row: AllocationRow
      /** Allocations of less important jobs that must go for it; their room counts as free. */
      readonly preempted?: readonly AllocationRow[]
    }
  | { readonly ok: false; readonly metrics: PlacementMetrics }

/** What is worked out once for each group of the job. */
interface GroupWork {
  readonly ask: GroupAsk
  readonly filter: NodeFilter
  readonly distinct: readonly DistinctRule[]
  /** Made at the first placement: an evaluation that only stops looks at no node. */
  candidates?: Candidates
  preemption?: Preemption
  seen?: SeenNodes
  /** What every allocation of the group is given, if it is given nothing particular. */
  resources?: AllocatedResources
}

/** Finds nodes for the allocations of one job, each placement seeing those before it. */
export class Placer {
  readonly #options: PlacerOptions
  readonly #work = new Map<string, GroupWork>()
  readonly #planned = new PlannedVictims()
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
    const { context } = this.#options
    const startNs = context.elapsedNs?.() ?? 0
    const candidates = this.#candidatesOf(request.group)
    const selection = select(candidates, request)
    const preempting = selection.chosen === undefined ? this.#preempt(request) : undefined
    const found: Selection =
      preempting === undefined
        ? selection
        : { ...selection, chosen: preempting.node, best: preempting.best }
    const spentNs = (context.elapsedNs?.() ?? 0) - startNs
    const seen = this.#seenOf(request.group)
    if (found.chosen === undefined) return { ok: false, metrics: seen.ofFailure(found, spentNs) }
    const metrics =
      request.only === undefined ? seen.ofAll(found, spentNs) : seen.ofOne(found, spentNs)
    return this.#settle({ request, node: found.chosen, metrics }, preempting?.victims ?? [])
  }

  /** Only once a look at all nodes has found none. */
  #preempt(request: PlaceRequest): Preempting | undefined {
    const { job } = this.#options
    if (!canPreempt(job, this.#settings)) return undefined
    const work = this.#workOf(request.group)
    work.preemption ??= new Preemption({
      ...this.#options,
      ask: work.ask,
      candidates: this.#candidatesOf(request.group),
      planned: this.#planned,
    })
    return work.preemption.select(request)
  }

  /** The plan so far now holds the allocation, without those that go for it. */
  #settle(placement: NewPlacement, victims: readonly Victim[]): Placed {
    const { proposed } = this.#options
    for (const victim of victims) {
      proposed.evict(victim.row)
      this.#planned.add(victim)
    }
    const row = this.#newRow(placement)
    if (victims.length === 0) {
      proposed.place(row)
      return { ok: true, row }
    }
    const preempted = victims.map((victim) => victim.row)
    const winner = { ...row, PreemptedAllocations: preempted.map(({ ID }) => ID) }
    proposed.place(winner)
    return { ok: true, row: winner, preempted }
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
    const missing = missingOn(node, { ...ask, ports: [] }, proposed.usageOn(node.ID))
    const refused = distinctReason(distinct, node)
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

  /** What decides about nodes for a group, for whoever explains it. */
  rulesOf(group: TaskGroup): {
    readonly ask: GroupAsk
    readonly rules: readonly NodeRule[]
    readonly distinct: readonly DistinctRule[]
  } {
    const { ask, filter, distinct } = this.#workOf(group)
    return { ask, rules: filter.rules, distinct }
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
        filter: nodeFilter(job, group, (id) => view.findHostVolume(job.Namespace, id)),
        distinct: [
          ...distinctRules({ job, group, proposed, findNode }),
          ...singleWriterRules({ job, group, proposed, view }),
        ],
      }
      this.#work.set(group.Name, work)
    }
    return work
  }

  #candidatesOf(group: TaskGroup): Candidates {
    const work = this.#workOf(group)
    work.candidates ??= new Candidates({
      ...this.#options,
      ask: work.ask,
      filter: work.filter,
      distinct: work.distinct,
      group,
      base: this.base,
      settings: this.#settings,
    })
    return work.candidates
  }

  #seenOf(group: TaskGroup): SeenNodes {
    const work = this.#workOf(group)
    work.seen ??= new SeenNodes(group, this.base, this.#candidatesOf(group))
    return work.seen
  }

  #newRow({ request, node, metrics }: NewPlacement): AllocationRow {
    const { job, evaluation, context } = this.#options
    const { group, index } = request
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
      AllocatedResources: this.#resources(group, node),
      Metrics: metrics,
      CreateIndex: 0,
      ModifyIndex: 0,
      AllocModifyIndex: 0,
      CreateTime: nsFromMs(context.nowMs),
      ModifyTime: nsFromMs(context.nowMs),
    }
  }

  #resources(group: TaskGroup, node: PublicNode): AllocatedResources {
    const { context, proposed } = this.#options
    const work = this.#workOf(group)
    if (work.resources !== undefined) return work.resources
    const resources = assignResources({
      group,
      ask: work.ask,
      node,
      usage: proposed.usageOn(node.ID),
      random: context.random,
    })
    if (!isParticular(work.ask)) work.resources = resources
    return resources
  }
}

/** An allocation that has its node. */
interface NewPlacement {
  readonly request: PlaceRequest
  readonly node: PublicNode
  readonly metrics: StoredMetrics
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
