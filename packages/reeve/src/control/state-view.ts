import type { Deployment, HostVolumeRecord, Job, SchedulerAlgorithm } from '@reeve/contract'
import { isSchedulable, type AllocationRow, type NodeRow } from '../model/index.ts'
import type { ClusterView, PlacementSettings } from '../scheduler/index.ts'
import {
  jobVersionKey,
  namespacedKey,
  NodeUsageTracker,
  schedulerConfiguration,
  type Store,
} from '../state/index.ts'
import { ALL_POOLS } from '../workload/index.ts'

/**
 * View of the scheduler on the live state. Scheduling and commits alternate, so the state does not
 * change during a decision.
 */
export class StateView implements ClusterView {
  readonly #store: Store
  readonly #nodeUsages: NodeUsageTracker
  #readyByPool = new Map<string, readonly NodeRow[]>()
  #readyIndex = -1

  constructor(store: Store) {
    this.#store = store
    this.#nodeUsages = new NodeUsageTracker(store)
  }

  get index(): number {
    return this.#store.index
  }

  findJob(namespace: string, id: string): Job | undefined {
    return this.#store.tables.jobs.find(namespacedKey(namespace, id))
  }

  jobVersionOf({ Namespace, JobID, JobVersion }: AllocationRow): Job | undefined {
    return this.#store.tables.job_versions.find(jobVersionKey(Namespace, JobID, JobVersion))
  }

  versionsOf(namespace: string, jobId: string): readonly Job[] {
    // Version keys sort numerically.
    return this.#store.tables.job_versions.rowsByIndex('job', namespacedKey(namespace, jobId))
  }

  findDeployment(id: string): Deployment | undefined {
    return this.#store.tables.deployments.find(id)
  }

  deploymentsOf(namespace: string, jobId: string): readonly Deployment[] {
    const { deployments } = this.#store.tables
    return deployments.rowsByIndex('job', namespacedKey(namespace, jobId)).toSorted(byCreateIndex)
  }

  latestDeployment(namespace: string, jobId: string): Deployment | undefined {
    const { deployments } = this.#store.tables
    let latest: string | undefined
    let latestIndex = -1
    for (const id of deployments.keysByIndex('job', namespacedKey(namespace, jobId))) {
      const index = deployments.createIndexOf(id) ?? 0
      if (index <= latestIndex) continue
      latest = id
      latestIndex = index
    }
    return latest === undefined ? undefined : deployments.get(latest)
  }

  isPendingEvaluation(evaluationId: string): boolean {
    return this.#store.tables.evaluations.find(evaluationId)?.Status === 'pending'
  }

  evaluationsDueAt(namespace: string, jobId: string, timeMs: number): readonly string[] {
    return this.#store.tables.evaluations
      .rowsByIndex('open', namespacedKey(namespace, jobId))
      .filter((row) => row.Status === 'pending' && Date.parse(row.WaitUntil) === timeMs)
      .map((row) => row.ID)
  }

  allocationsOf(namespace: string, jobId: string): readonly AllocationRow[] {
    return this.#store.tables.allocations.rowsByIndex('job', namespacedKey(namespace, jobId))
  }

  findNode(id: string): NodeRow | undefined {
    return this.#store.tables.nodes.find(id)
  }

  findHostVolume(namespace: string, id: string): HostVolumeRecord | undefined {
    return this.#store.tables.host_volumes.find(namespacedKey(namespace, id))
  }

  readyNodes(pool: string): readonly NodeRow[] {
    const { nodes } = this.#store.tables
    if (this.#readyIndex !== nodes.lastIndex) {
      this.#readyByPool = new Map()
      this.#readyIndex = nodes.lastIndex
    }
    const cached = this.#readyByPool.get(pool)
    if (cached !== undefined) return cached
    const all = pool === ALL_POOLS ? [...nodes.rows()] : nodes.rowsByIndex('pool', pool)
    const ready = all.filter(isSchedulable)
    this.#readyByPool.set(pool, ready)
    return ready
  }

  usageOn(nodeId: string) {
    return this.#nodeUsages.of(nodeId)
  }

  get usageColumns() {
    return this.#nodeUsages.columns
  }

  allocationsOn(nodeId: string): readonly AllocationRow[] {
    return this.#store.tables.allocations.rowsByIndex('node', nodeId)
  }

  settingsFor(pool: string): PlacementSettings {
    const { tables } = this.#store
    const poolSettings = tables.node_pools.find(pool)?.SchedulerConfiguration
    const cluster = schedulerConfiguration(tables)
    return {
      algorithm: algorithmOf(poolSettings?.SchedulerAlgorithm || cluster.SchedulerAlgorithm),
      memoryOversubscription:
        poolSettings?.MemoryOversubscriptionEnabled ?? cluster.MemoryOversubscriptionEnabled,
      preemption: cluster.PreemptionConfig,
    }
  }
}

/** A commit creates at most one deployment per job, so create indexes differ. */
function byCreateIndex(a: Deployment, b: Deployment): number {
  return a.CreateIndex - b.CreateIndex
}

/** Stored values were validated when they were written. */
function algorithmOf(name: string): SchedulerAlgorithm {
  return name === 'spread' ? 'spread' : 'binpack'
}
