import type { AllocationUpdate } from '@reeve/contract'
import type { WorkloadContext } from '../context.ts'
import { updateAllocations, type NodeReport } from './update-allocations.ts'

/** Maximum number of allocations in one commit: larger ones would delay other requests. */
const UPDATES_PER_COMMIT = 500

interface Gathered {
  readonly reports: NodeReport[]
  updates: number
  readonly done: PromiseWithResolvers<void>
}

/**
 * Receives the reports of all nodes. A starting job has thousands of allocations on as many nodes,
 * which report at the same time: reports of one tick share a commit, which writes each job's
 * summary once.
 */
export class NodeReports {
  readonly #context: WorkloadContext
  #gathered: Gathered | undefined

  constructor(context: WorkloadContext) {
    this.#context = context
  }

  /** Resolves when the report is durable. Rejects with the fault of the storage. */
  report(nodeId: string, updates: readonly AllocationUpdate[]): Promise<void> {
    const gathered = (this.#gathered ??= this.#begin())
    gathered.reports.push({ nodeId, updates })
    gathered.updates += updates.length
    if (gathered.updates >= UPDATES_PER_COMMIT) this.#commit(gathered)
    return gathered.done.promise
  }

  #begin(): Gathered {
    const gathered = { reports: [], updates: 0, done: Promise.withResolvers<void>() }
    // Include all reports that have already arrived.
    setImmediate(() => this.#commit(gathered))
    return gathered
  }

  #commit(gathered: Gathered): void {
    if (this.#gathered !== gathered) return
    this.#gathered = undefined
    const { resolve, reject } = gathered.done
    updateAllocations(this.#context, gathered.reports).then(resolve, reject)
  }
}
