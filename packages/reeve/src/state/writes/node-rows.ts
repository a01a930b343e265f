import type { Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { matchGlob } from '@reeve/kit/glob.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  addToUsage,
  chargeOf,
  isClientTerminal,
  NO_USAGE,
  removeFromUsage,
  type AllocationRow,
  type NodeUsage,
  type UsageColumns,
  isServerTerminal,
  newEvaluation,
  type NodeRow,
} from '../../model/index.ts'
import { type Change, put, type Stamp, type Store } from '../store.ts'
import { jobVersionKey, namespacedKey, type TableObserver, type Tables } from '../schema/tables.ts'

/**
 * Resources used by allocations per node, updated row by row: the scheduler needs them for every
 * placement and must not add up a node's allocations each time.
 */
export class NodeUsageTracker implements TableObserver<'allocations'> {
  readonly #store: Store
  #columns: UsageTable

  constructor(store: Store) {
    this.#store = store
    this.#columns = new UsageTable((nodeId) => this.#recompute(nodeId))
    store.observe('allocations', this)
  }

  /** Replaced by a new object when cached values must be discarded. */
  get columns(): UsageColumns {
    return this.#columns
  }

  of(nodeId: string): NodeUsage {
    return this.#columns.of(nodeId)
  }

  changed(before: AllocationRow | undefined, after: AllocationRow | undefined): void {
    if (before !== undefined && after !== undefined && usesSameResources(before, after)) return
    if (before !== undefined && holdsResources(before)) this.#adjust(before, removeFromUsage)
    if (after !== undefined && holdsResources(after)) this.#adjust(after, addToUsage)
  }

  reset(): void {
    this.#columns = new UsageTable((nodeId) => this.#recompute(nodeId))
  }

  #adjust(row: AllocationRow, change: typeof addToUsage): void {
    // Nodes are computed on first use.
    if (!this.#columns.has(row.NodeID)) return
    const usage = this.#columns.of(row.NodeID)
    this.#columns.set(row.NodeID, change(usage, chargeOf(row.AllocatedResources)))
  }

  #recompute(nodeId: string): NodeUsage {
    return this.#store.tables.allocations
      .rowsByIndex('node', nodeId)
      .filter(holdsResources)
      .reduce((sum, row) => addToUsage(sum, chargeOf(row.AllocatedResources)), NO_USAGE)
  }
}

const INITIAL_SLOTS = 64

/**
 * A slot for every node queried since the start. A purged node keeps its slot, which costs as much
 * as its ID.
 */
class UsageTable implements UsageColumns {
  readonly #slots = new Map<string, number>()
  /** The usage as objects, which include cores, ports and devices. */
  readonly #usages: NodeUsage[] = []
  readonly #recompute: (nodeId: string) => NodeUsage
  cpuShares = new Float64Array(INITIAL_SLOTS)
  memoryMB = new Float64Array(INITIAL_SLOTS)
  diskMB = new Float64Array(INITIAL_SLOTS)
  hasDiscreteUsage = new Uint8Array(INITIAL_SLOTS)

  constructor(addUp: (nodeId: string) => NodeUsage) {
    this.#recompute = addUp
  }

  has(nodeId: string): boolean {
    return this.#slots.has(nodeId)
  }

  slotOf(nodeId: string): number {
    const existing = this.#slots.get(nodeId)
    if (existing !== undefined) return existing
    const slot = this.#slots.size
    if (slot === this.cpuShares.length) this.#grow()
    this.#slots.set(nodeId, slot)
    this.#write(slot, this.#recompute(nodeId))
    return slot
  }

  of(nodeId: string): NodeUsage {
    return this.#usages[this.slotOf(nodeId)] ?? NO_USAGE
  }

  set(nodeId: string, usage: NodeUsage): void {
    this.#write(this.slotOf(nodeId), usage)
  }

  #write(slot: number, usage: NodeUsage): void {
    this.#usages[slot] = usage
    this.cpuShares[slot] = usage.cpuShares
    this.memoryMB[slot] = usage.memoryMB
    this.diskMB[slot] = usage.diskMB
    this.hasDiscreteUsage[slot] =
      usage.cores.size + usage.ports.size + usage.devices.size > 0 ? 1 : 0
  }

  #grow(): void {
    const length = this.cpuShares.length * 2
    const grown = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const next = new Float64Array(length)
      next.set(column)
      return next
    }
    this.cpuShares = grown(this.cpuShares)
    this.memoryMB = grown(this.memoryMB)
    this.diskMB = grown(this.diskMB)
    const special = new Uint8Array(length)
    special.set(this.hasDiscreteUsage)
    this.hasDiscreteUsage = special
  }
}

/** True until its node reports that it has ended, whatever its desired status. */
function holdsResources(row: AllocationRow): boolean {
  return !isClientTerminal(row)
}

function usesSameResources(before: AllocationRow, after: AllocationRow): boolean {
  return (
    holdsResources(before) === holdsResources(after) &&
    before.NodeID === after.NodeID &&
    before.AllocatedResources === after.AllocatedResources
  )
}

/** The built-in pool that contains all nodes. */
const ALL_POOLS = 'all'

/**
 * Evaluations after a node was added, removed or changed: one for each job with allocations on the
 * node and for each system job that may run there.
 */
export function nodeEvaluations(
  tables: Tables,
  node: Pick<NodeRow, 'ID' | 'NodePool' | 'Datacenter'>,
  options: { readonly stamp: Stamp; readonly ids: IdSource },
): Change[] {
  const { stamp, ids } = options
  const jobs = new Map<string, Job>()
  for (const row of tables.allocations.rowsByIndex('node', node.ID).filter(isAffectedByNode)) {
    const job = jobOf(tables, row)
    if (job !== undefined) jobs.set(namespacedKey(job.Namespace, job.ID), job)
  }
  for (const key of tables.jobs.keysByIndex('everywhere', 'yes')) {
    const job = tables.jobs.get(key)
    if (mayRunOn(job, node)) jobs.set(key, job)
  }
  const sorted = [...jobs].toSorted(([a], [b]) => compareText(a, b))
  return sorted.map(([, job]) => {
    const evaluation = newEvaluation(job, {
      id: ids.uuid(),
      trigger: 'node-update',
      timeMs: stamp.timeMs,
      jobModifyIndex: job.JobModifyIndex,
    })
    return put('evaluations', { ...evaluation, NodeID: node.ID, NodeModifyIndex: stamp.index })
  })
}

/**
 * For a purged job, returns the version that the allocation runs, because its allocations still
 * need handling.
 */
function jobOf({ jobs, job_versions }: Tables, row: AllocationRow): Job | undefined {
  return (
    jobs.find(namespacedKey(row.Namespace, row.JobID)) ??
    job_versions.find(jobVersionKey(row.Namespace, row.JobID, row.JobVersion))
  )
}

/**
 * True if the state of the node affects the allocation. An allocation that should stop and is still
 * running is lost with its node; a service allocation that ended by itself may be replaced.
 */
function isAffectedByNode(row: AllocationRow): boolean {
  if (!isClientTerminal(row)) return true
  return row.JobType === 'service' && !isServerTerminal(row)
}

/** A sysbatch job runs only on nodes that existed when it was registered. */
function mayRunOn(job: Job, node: Pick<NodeRow, 'NodePool' | 'Datacenter'>): boolean {
  if (job.Type !== 'system') return false
  const isPool = job.NodePool === ALL_POOLS || job.NodePool === node.NodePool
  return isPool && job.Datacenters.some((pattern) => matchGlob(pattern, node.Datacenter))
}
