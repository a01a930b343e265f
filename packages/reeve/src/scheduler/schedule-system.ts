import type { DesiredUpdates, TaskGroup } from '@reeve/contract'
import {
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
} from '../model/index.ts'
import { isInBaseSet } from './feasible/base-set.ts'
import { NO_UPDATES } from './outcome.ts'
import { Placer, type Placed } from './placer.ts'
import type { Plan } from './plan.ts'
import { Proposed } from './proposed.ts'
import { taskLifecycles } from './rank/assign.ts'
import { byName, isOlder } from './reconcile/classify.ts'
import { isGone } from './reconcile/gone.ts'
import { REASONS } from './reconcile/reasons.ts'
import { updateKind } from './reconcile/reconcile-group.ts'
import { stopped, type Run } from './run.ts'

/**
 * System and sysbatch jobs: each group on every node that can run it (scheduling reference §13).
 * All destructive updates are made in one go, as for service jobs.
 */
export function scheduleSystem(run: Run): Plan {
  const proposed = new Proposed(run.view, run.rows)
  const placer = new Placer({ ...run, proposed })
  const groups = new Map(run.job.TaskGroups.map((group) => [group.Name, group]))
  const names = new Set([...groups.keys(), ...run.rows.map((row) => row.TaskGroup)])
  for (const name of names) {
    const rows = run.rows.filter((row) => row.TaskGroup === name).toSorted(byName)
    const work = new GroupOnNodes({ ...run, placer, proposed }, groups.get(name), rows)
    run.outcome.desire(name, work.carryOut())
  }
  return run.outcome.finish(run.job, placer)
}

interface SystemRun extends Run {
  readonly placer: Placer
  readonly proposed: Proposed
}

/** One group of the job, node by node; undefined when the job no longer has the group. */
class GroupOnNodes {
  readonly #run: SystemRun
  readonly #group: TaskGroup | undefined
  readonly #rows: readonly AllocationRow[]
  readonly #counts: Record<keyof DesiredUpdates, number> = { ...NO_UPDATES }
  #failure: Extract<Placed, { readonly ok: false }> | undefined
  #placed = 0
  #unplaced = 0

  constructor(run: SystemRun, group: TaskGroup | undefined, rows: readonly AllocationRow[]) {
    this.#run = run
    this.#group = group
    this.#rows = rows
  }

  carryOut(): DesiredUpdates {
    const group = this.#group
    const satisfied = new Map<string, number>()
    for (const row of this.#rows) {
      const stays = this.#keep(row, group)
      if (stays) satisfied.set(row.NodeID, (satisfied.get(row.NodeID) ?? 0) + 1)
    }
    if (group !== undefined)
      for (const node of this.#run.placer.base.nodes)
        this.#fill(node, group, satisfied.get(node.ID) ?? 0)
    this.#report(group, satisfied.size > 0)
    return this.#counts
  }

  /** Decides about one allocation; true when its node needs no other in its place. */
  #keep(row: AllocationRow, group: TaskGroup | undefined): boolean {
    const { job, view } = this.#run
    if (isServerTerminal(row)) return false
    if (isClientTerminal(row)) return job.Type === 'sysbatch' && !isOlder(row, job)
    const node = view.findNode(row.NodeID)
    if (node === undefined || isGone(node)) return this.#stop(row, REASONS.lost, true)
    if (group === undefined || group.Count === 0) return this.#stop(row, REASONS.notNeeded)
    if (row.DesiredTransition?.Migrate === true) return this.#stop(row, REASONS.migrating)
    if (!isInBaseSet(node, job)) return this.#stop(row, REASONS.nodeUnfit)
    return this.#update(row, node, group)
  }

  #stop(row: AllocationRow, reason: string, lost = false): false {
    this.#run.proposed.stop(row)
    this.#run.outcome.stop(row, stopped(reason, lost))
    this.#counts[reason === REASONS.migrating ? 'Migrate' : 'Stop'] += 1
    return false
  }

  #update(row: AllocationRow, node: PublicNode, group: TaskGroup): boolean {
    const { job, view, evaluation, outcome, placer } = this.#run
    const kind = updateKind(row, group, {
      job,
      findJobOf: (one) => view.findJobOf(one),
      canStay: (one, next) => placer.canStay(one, next),
    })
    if (kind === 'none') {
      this.#counts.Ignore += 1
      return true
    }
    if (kind === 'in-place') {
      this.#counts.InPlaceUpdate += 1
      outcome.update(row, {
        JobVersion: job.Version,
        EvalID: evaluation.ID,
        AllocatedResources: { ...row.AllocatedResources, TaskLifecycles: taskLifecycles(group) },
      })
      return true
    }
    return this.#replace(row, node, group)
  }

  /**
   * A node that takes no new work, or can no longer run the group, only loses the old allocation.
   */
  #replace(row: AllocationRow, node: PublicNode, group: TaskGroup): boolean {
    const { outcome, placer, proposed } = this.#run
    if (!takesWork(node) || !placer.isFeasible(node, group))
      return this.#stop(row, REASONS.nodeUnfit)
    this.#counts.DestructiveUpdate += 1
    proposed.stop(row)
    const placed = placer.place({ group, index: 0, only: node.ID })
    if (!placed.ok) {
      proposed.restore(row)
      this.#fail(placed)
      return true
    }
    outcome.place({ ...placed.row, PreviousAllocation: row.ID })
    outcome.stop(row, { ...stopped(REASONS.updating), NextAllocation: placed.row.ID })
    this.#placed += 1
    return true
  }

  /** Places what is missing. A node that cannot run the group is passed over in silence. */
  #fill(node: PublicNode, group: TaskGroup, held: number): void {
    const { outcome, placer } = this.#run
    for (let index = held; index < group.Count; index++) {
      if (!placer.isFeasible(node, group)) return
      const placed = placer.place({ group, index, only: node.ID })
      if (!placed.ok) return this.#fail(placed)
      outcome.place(placed.row)
      this.#counts.Place += 1
      this.#placed += 1
    }
  }

  #fail(placed: Extract<Placed, { readonly ok: false }>): void {
    this.#failure ??= placed
    this.#unplaced += 1
  }

  /**
   * Nodes without room are reported. When no node can run the group at all, that is reported too.
   */
  #report(group: TaskGroup | undefined, isSomewhere: boolean): void {
    const { outcome, placer } = this.#run
    if (group === undefined || group.Count === 0) return
    if (this.#failure === undefined) {
      if (isSomewhere || this.#placed > 0) return
      const overview = placer.place({ group, index: 0 })
      if (!overview.ok) outcome.fail(group, overview.metrics)
      return
    }
    outcome.fail(group, this.#failure.metrics)
    for (let more = 1; more < this.#unplaced; more++) outcome.coalesce(group)
  }
}

function takesWork(node: PublicNode): boolean {
  return (
    node.Status === 'ready' &&
    node.SchedulingEligibility === 'eligible' &&
    node.DrainStrategy === null
  )
}
