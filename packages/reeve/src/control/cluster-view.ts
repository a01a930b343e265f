import type { Deployment, HostVolumeRecord, Job, SchedulerAlgorithm } from '@reeve/contract'
import type { AllocationRow, NodeRow } from '../model/index.ts'
import type { ClusterView, PlacementSettings } from '../scheduler/index.ts'
import {
  jobVersionKey,
  namespacedKey,
  NodeUsages,
  schedulerConfiguration,
  type Store,
} from '../state/index.ts'

/** The pool that stands for every pool. */
const ALL_POOLS = 'all'

/**
 * The live state as the scheduler may see it. Decisions and commits alternate, so it never moves
 * under one.
 */
export class StateView implements ClusterView {
  readonly #store: Store
  readonly #usages: NodeUsages
  #ready = new Map<string, readonly NodeRow[]>()
  #readyIndex = -1

  constructor(store: Store) {
    this.#store = store
    this.#usages = new NodeUsages(store)
  }

  get index(): number {
    return this.#store.index
  }

  findJob(namespace: string, id: string): Job | undefined {
    return this.#store.tables.jobs.find(namespacedKey(namespace, id))
  }

  findJobOf({ Namespace, JobID, JobVersion }: AllocationRow): Job | undefined {
    return this.#store.tables.job_versions.find(jobVersionKey(Namespace, JobID, JobVersion))
  }

  versionsOf(namespace: string, jobId: string): readonly Job[] {
    // Keys of versions sort as numbers.
    return this.#store.tables.job_versions.rowsIn('job', namespacedKey(namespace, jobId))
  }

  findDeployment(id: string): Deployment | undefined {
    return this.#store.tables.deployments.find(id)
  }

  deploymentsOf(namespace: string, jobId: string): readonly Deployment[] {
    const { deployments } = this.#store.tables
    return deployments.rowsIn('job', namespacedKey(namespace, jobId)).toSorted(byCreation)
  }

  latestDeployment(namespace: string, jobId: string): Deployment | undefined {
    const { deployments } = this.#store.tables
    let latest: string | undefined
    let latestIndex = -1
    for (const id of deployments.keysIn('job', namespacedKey(namespace, jobId))) {
      const index = deployments.createIndexOf(id) ?? 0
      if (index <= latestIndex) continue
      latest = id
      latestIndex = index
    }
    return latest === undefined ? undefined : deployments.get(latest)
  }

  isToCome(evaluationId: string): boolean {
    return this.#store.tables.evaluations.find(evaluationId)?.Status === 'pending'
  }

  evaluationsDueAt(namespace: string, jobId: string, timeMs: number): readonly string[] {
    return this.#store.tables.evaluations
      .rowsIn('open', namespacedKey(namespace, jobId))
      .filter((row) => row.Status === 'pending' && Date.parse(row.WaitUntil) === timeMs)
      .map((row) => row.ID)
  }

  allocationsOf(namespace: string, jobId: string): readonly AllocationRow[] {
    return this.#store.tables.allocations.rowsIn('job', namespacedKey(namespace, jobId))
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
      this.#ready = new Map()
      this.#readyIndex = nodes.lastIndex
    }
    const known = this.#ready.get(pool)
    if (known !== undefined) return known
    const all = pool === ALL_POOLS ? [...nodes.rows()] : nodes.rowsIn('pool', pool)
    const ready = all.filter(takesWork)
    this.#ready.set(pool, ready)
    return ready
  }

  usageOn(nodeId: string) {
    return this.#usages.of(nodeId)
  }

  get usageColumns() {
    return this.#usages.columns
  }

  allocationsOn(nodeId: string): readonly AllocationRow[] {
    return this.#store.tables.allocations.rowsIn('node', nodeId)
  }

  settingsFor(pool: string): PlacementSettings {
    const { tables } = this.#store
    const own = tables.node_pools.find(pool)?.SchedulerConfiguration
    const cluster = schedulerConfiguration(tables)
    return {
      algorithm: algorithmOf(own?.SchedulerAlgorithm || cluster.SchedulerAlgorithm),
      memoryOversubscription:
        own?.MemoryOversubscriptionEnabled ?? cluster.MemoryOversubscriptionEnabled,
      preemption: cluster.PreemptionConfig,
    }
  }
}

/** A commit makes at most one deployment of a job, so that their indexes differ. */
function byCreation(a: Deployment, b: Deployment): number {
  return a.CreateIndex - b.CreateIndex
}

/** What is stored was checked when it was written. */
function algorithmOf(text: string): SchedulerAlgorithm {
  return text === 'spread' ? 'spread' : 'binpack'
}

function takesWork(node: NodeRow): boolean {
  return node.Status === 'ready' && node.SchedulingEligibility === 'eligible' && !node.Drain
}
