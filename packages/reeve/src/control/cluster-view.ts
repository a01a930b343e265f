import type { Job } from '@reeve/contract'
import type { AllocationRow, NodeRow } from '../model/index.ts'
import type { ClusterView, PlacementSettings } from '../scheduler/index.ts'
import { jobVersionKey, namespacedKey, NodeUsages, type Store } from '../state/index.ts'

/** The pool that stands for every pool (reference §4.1). */
const ALL_POOLS = 'all'
const DEFAULT_SETTINGS: PlacementSettings = { algorithm: 'binpack', memoryOversubscription: false }

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

  allocationsOf(namespace: string, jobId: string): readonly AllocationRow[] {
    return this.#store.tables.allocations.rowsIn('job', namespacedKey(namespace, jobId))
  }

  findNode(id: string): NodeRow | undefined {
    return this.#store.tables.nodes.find(id)
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

  settingsFor(pool: string): PlacementSettings {
    const own = this.#store.tables.node_pools.find(pool)?.SchedulerConfiguration
    return {
      algorithm: own?.SchedulerAlgorithm === 'spread' ? 'spread' : DEFAULT_SETTINGS.algorithm,
      memoryOversubscription:
        own?.MemoryOversubscriptionEnabled ?? DEFAULT_SETTINGS.memoryOversubscription,
    }
  }
}

function takesWork(node: NodeRow): boolean {
  return node.Status === 'ready' && node.SchedulingEligibility === 'eligible' && !node.Drain
}
