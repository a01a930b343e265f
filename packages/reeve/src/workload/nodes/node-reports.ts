import type { AllocationUpdate } from '@reeve/contract'
import type { WorkloadContext } from '../context.ts'
import { updateAllocations, type NodeReport } from './update-allocations.ts'

/** Maximum number of allocations in one commit: larger ones would delay other requests. */
const UPDATES_PER_COMMIT = 500

interface ReportBatch {
  readonly reports: NodeReport[]
  updates: number
  readonly done: PromiseWithResolvers<void>
}

/**
 * Receives the reports of all nodes. A starting job has thousands of allocations on as many nodes,
 * which report at the same time: reports of one tick share a commit, which writes each job's
 * summary once.
 */
export class NodeReportBatcher {
  readonly #context: WorkloadContext
  #currentBatch: ReportBatch | undefined

  constructor(context: WorkloadContext) {
    this.#context = context
  }

  /** Resolves when the report is durable. Rejects with the fault of the storage. */
  report(nodeId: string, updates: readonly AllocationUpdate[]): Promise<void> {
    const batch = (this.#currentBatch ??= this.#startBatch())
    batch.reports.push({ nodeId, updates })
    batch.updates += updates.length
    if (batch.updates >= UPDATES_PER_COMMIT) this.#commit(batch)
    return batch.done.promise
  }

  #startBatch(): ReportBatch {
    const batch = { reports: [], updates: 0, done: Promise.withResolvers<void>() }
    // Include all reports that have already arrived.
    setImmediate(() => this.#commit(batch))
    return batch
  }

  #commit(batch: ReportBatch): void {
    if (this.#currentBatch !== batch) return
    this.#currentBatch = undefined
    const { resolve, reject } = batch.done
    updateAllocations(this.#context, batch.reports).then(resolve, reject)
  }
}
