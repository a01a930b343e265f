import { ALL_NODE_POOL, type Job } from '@reeve/contract'
import type { AllocationRow, NodeUsage, PublicNode, UsageColumns } from '../../model/index.ts'
import type { ClusterView } from '../../scheduler/index.ts'

/**
 * A view that can be frozen: from then on it shows the scheduler's view of one job at that moment,
 * so that a plan in slices is based on one state. Before that it is the live view and costs
 * nothing; a plan that fits into one slice never freezes it. Allocations of other jobs are still
 * read live, for preemption: copying all of them would cost more than the plan. Later
 * allocations are omitted.
 */
export class FreezableView {
  readonly #live: ClusterView
  readonly #job: Job
  #frozen: ClusterView | undefined

  constructor(live: ClusterView, job: Job) {
    this.#live = live
    this.#job = job
  }

  freeze(): void {
    this.#frozen ??= frozenView(this.#live, this.#job)
  }

  /** The view for the scheduler; the same object before and after freezing. */
  get view(): ClusterView {
    const now = (): ClusterView => this.#frozen ?? this.#live
    return {
      get index() {
        return now().index
      },
      findJob: (namespace, id) => now().findJob(namespace, id),
      findJobOf: (row) => now().findJobOf(row),
      versionsOf: (namespace, id) => now().versionsOf(namespace, id),
      findDeployment: (id) => now().findDeployment(id),
      deploymentsOf: (namespace, id) => now().deploymentsOf(namespace, id),
      latestDeployment: (namespace, id) => now().latestDeployment(namespace, id),
      isToCome: (id) => now().isToCome(id),
      evaluationsDueAt: (namespace, id, timeMs) => now().evaluationsDueAt(namespace, id, timeMs),
      allocationsOf: (namespace, id) => now().allocationsOf(namespace, id),
      findNode: (id) => now().findNode(id),
      findHostVolume: (namespace, id) => now().findHostVolume(namespace, id),
      readyNodes: (pool) => now().readyNodes(pool),
      usageOn: (id) => now().usageOn(id),
      get usageColumns() {
        return now().usageColumns
      },
      allocationsOn: (id) => now().allocationsOn(id),
      settingsFor: (pool) => now().settingsFor(pool),
    }
  }
}

function frozenView(live: ClusterView, job: Job): ClusterView {
  const { Namespace: namespace, ID: jobId, NodePool: pool } = job
  const { index } = live
  const isOwn = (otherNamespace: string, otherId: string): boolean =>
    otherNamespace === namespace && otherId === jobId
  const rows = live.allocationsOf(namespace, jobId)
  const versions = live.versionsOf(namespace, jobId)
  const deployments = live.deploymentsOf(namespace, jobId)
  const latest = live.latestDeployment(namespace, jobId)
  const readyPool = pool === '' ? ALL_NODE_POOL : pool
  const ready = live.readyNodes(readyPool)
  const settings = live.settingsFor(pool)
  const { nodes, usages } = copyNodes(live, ready, rows)
  const usageColumns = copyColumns(live.usageColumns)
  return {
    index,
    findJob: (otherNamespace, id) =>
      isOwn(otherNamespace, id) ? job : live.findJob(otherNamespace, id),
    findJobOf: (row) => versionOf(row, versions) ?? live.findJobOf(row),
    versionsOf: (otherNamespace, id) =>
      isOwn(otherNamespace, id) ? versions : live.versionsOf(otherNamespace, id),
    findDeployment: (id) => deployments.find(({ ID }) => ID === id) ?? live.findDeployment(id),
    deploymentsOf: (otherNamespace, id) =>
      isOwn(otherNamespace, id) ? deployments : live.deploymentsOf(otherNamespace, id),
    latestDeployment: (otherNamespace, id) =>
      isOwn(otherNamespace, id) ? latest : live.latestDeployment(otherNamespace, id),
    isToCome: (id) => live.isToCome(id),
    evaluationsDueAt: (otherNamespace, id, timeMs) =>
      live.evaluationsDueAt(otherNamespace, id, timeMs),
    allocationsOf: (otherNamespace, id) =>
      isOwn(otherNamespace, id) ? rows : live.allocationsOf(otherNamespace, id),
    findNode: (id) => nodes.get(id) ?? live.findNode(id),
    findHostVolume: (other, id) => live.findHostVolume(other, id),
    readyNodes: (other) => (other === readyPool ? ready : live.readyNodes(other)),
    usageOn: (id) => usages.get(id) ?? live.usageOn(id),
    usageColumns,
    allocationsOn: (id) => live.allocationsOn(id).filter((row) => row.CreateIndex < index),
    settingsFor: (other) => (other === pool ? settings : live.settingsFor(other)),
  }
}

function versionOf(row: AllocationRow, versions: readonly Job[]): Job | undefined {
  return versions.find(
    ({ Namespace, ID, Version }) =>
      Namespace === row.Namespace && ID === row.JobID && Version === row.JobVersion,
  )
}

/** Usages are immutable, so keeping references suffices. */
function copyNodes(
  live: ClusterView,
  ready: readonly PublicNode[],
  rows: readonly AllocationRow[],
) {
  const nodes = new Map<string, PublicNode>()
  const usages = new Map<string, NodeUsage>()
  const copy = (id: string, node: PublicNode | undefined): void => {
    if (node !== undefined) nodes.set(id, node)
    usages.set(id, live.usageOn(id))
  }
  for (const node of ready) copy(node.ID, node)
  for (const { NodeID: id } of rows) if (!usages.has(id)) copy(id, live.findNode(id))
  return { nodes, usages }
}

function copyColumns(live: UsageColumns | undefined): UsageColumns | undefined {
  if (live === undefined) return undefined
  return {
    cpuShares: live.cpuShares.slice(),
    memoryMB: live.memoryMB.slice(),
    diskMB: live.diskMB.slice(),
    special: live.special.slice(),
    slotOf: (nodeId) => live.slotOf(nodeId),
  }
}
