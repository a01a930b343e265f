import { ALL_NODE_POOL, type Job } from '@reeve/contract'
import type { AllocationRow, NodeUsage, PublicNode, UsageColumns } from '../../model/index.ts'
import type { ClusterView } from '../../scheduler/index.ts'
import { jobVersionKey, namespacedKey, type Change } from '../../state/index.ts'

/**
 * A view of the cluster with these changes of jobs and job versions applied, which are all changes
 * of a registration that the scheduler reads. Nothing is written or copied.
 */
export function overlayView(
  view: ClusterView,
  index: number,
  changes: readonly Change[],
): ClusterView {
  const jobs = new Map<string, Job>()
  const versions = new Map<string, Job>()
  const deletedVersions = new Set<string>()
  for (const change of changes) {
    if (change.table === 'jobs' && change.row !== undefined)
      jobs.set(namespacedKey(change.row.Namespace, change.row.ID), change.row)
    if (change.table !== 'job_versions') continue
    if (change.row === undefined) deletedVersions.add(change.key)
    else versions.set(versionKey(change.row), change.row)
  }
  const { usageColumns } = view
  return {
    index,
    findJob: (namespace, id) =>
      jobs.get(namespacedKey(namespace, id)) ?? view.findJob(namespace, id),
    jobVersionOf: (row) =>
      versions.get(jobVersionKey(row.Namespace, row.JobID, row.JobVersion)) ??
      view.jobVersionOf(row),
    versionsOf: (namespace, jobId) => [
      ...view.versionsOf(namespace, jobId).filter((row) => !deletedVersions.has(versionKey(row))),
      // Only the newest version is ever written.
      ...[...versions.values()].filter((row) => row.Namespace === namespace && row.ID === jobId),
    ],
    findDeployment: (id) => view.findDeployment(id),
    deploymentsOf: (namespace, jobId) => view.deploymentsOf(namespace, jobId),
    latestDeployment: (namespace, jobId) => view.latestDeployment(namespace, jobId),
    isPendingEvaluation: (evaluationId) => view.isPendingEvaluation(evaluationId),
    evaluationsDueAt: (namespace, jobId, timeMs) => view.evaluationsDueAt(namespace, jobId, timeMs),
    allocationsOf: (namespace, jobId) => view.allocationsOf(namespace, jobId),
    findNode: (id) => view.findNode(id),
    findHostVolume: (namespace, id) => view.findHostVolume(namespace, id),
    readyNodes: (pool) => view.readyNodes(pool),
    usageOn: (nodeId) => view.usageOn(nodeId),
    ...(usageColumns === undefined ? {} : { usageColumns }),
    allocationsOn: (nodeId) => view.allocationsOn(nodeId),
    settingsFor: (pool) => view.settingsFor(pool),
  }
}

function versionKey({ Namespace, ID, Version }: Job): string {
  return jobVersionKey(Namespace, ID, Version)
}

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
    const currentView = (): ClusterView => this.#frozen ?? this.#live
    return {
      get index() {
        return currentView().index
      },
      findJob: (namespace, id) => currentView().findJob(namespace, id),
      jobVersionOf: (row) => currentView().jobVersionOf(row),
      versionsOf: (namespace, id) => currentView().versionsOf(namespace, id),
      findDeployment: (id) => currentView().findDeployment(id),
      deploymentsOf: (namespace, id) => currentView().deploymentsOf(namespace, id),
      latestDeployment: (namespace, id) => currentView().latestDeployment(namespace, id),
      isPendingEvaluation: (id) => currentView().isPendingEvaluation(id),
      evaluationsDueAt: (namespace, id, timeMs) =>
        currentView().evaluationsDueAt(namespace, id, timeMs),
      allocationsOf: (namespace, id) => currentView().allocationsOf(namespace, id),
      findNode: (id) => currentView().findNode(id),
      findHostVolume: (namespace, id) => currentView().findHostVolume(namespace, id),
      readyNodes: (pool) => currentView().readyNodes(pool),
      usageOn: (id) => currentView().usageOn(id),
      get usageColumns() {
        return currentView().usageColumns
      },
      allocationsOn: (id) => currentView().allocationsOn(id),
      settingsFor: (pool) => currentView().settingsFor(pool),
    }
  }
}

function frozenView(live: ClusterView, job: Job): ClusterView {
  const { Namespace: namespace, ID: jobId, NodePool: pool } = job
  const { index } = live
  const isPlannedJob = (otherNamespace: string, otherId: string): boolean =>
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
      isPlannedJob(otherNamespace, id) ? job : live.findJob(otherNamespace, id),
    jobVersionOf: (row) => versionOf(row, versions) ?? live.jobVersionOf(row),
    versionsOf: (otherNamespace, id) =>
      isPlannedJob(otherNamespace, id) ? versions : live.versionsOf(otherNamespace, id),
    findDeployment: (id) => deployments.find(({ ID }) => ID === id) ?? live.findDeployment(id),
    deploymentsOf: (otherNamespace, id) =>
      isPlannedJob(otherNamespace, id) ? deployments : live.deploymentsOf(otherNamespace, id),
    latestDeployment: (otherNamespace, id) =>
      isPlannedJob(otherNamespace, id) ? latest : live.latestDeployment(otherNamespace, id),
    isPendingEvaluation: (id) => live.isPendingEvaluation(id),
    evaluationsDueAt: (otherNamespace, id, timeMs) =>
      live.evaluationsDueAt(otherNamespace, id, timeMs),
    allocationsOf: (otherNamespace, id) =>
      isPlannedJob(otherNamespace, id) ? rows : live.allocationsOf(otherNamespace, id),
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
    hasDiscreteUsage: live.hasDiscreteUsage.slice(),
    slotOf: (nodeId) => live.slotOf(nodeId),
  }
}
