import type { AllocationUpdate } from '@reeve/contract'
import type { WorkloadContext } from '../context.ts'
import { updateAllocations, type NodeReport } from './update-allocations.ts'

/** Allocations in one commit. More would keep everybody else waiting while they are written. */
const UPDATES_PER_COMMIT = 500

interface Gathered {
  readonly reports: NodeReport[]
  updates: number
  readonly done: PromiseWithResolvers<void>
}

/**
 * Takes the reports of all nodes. A job that starts has thousands of allocations on as many nodes,
 * which all speak at once: what comes in one turn is one commit, and each job's summary is written
 * once for it.
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
    // Whatever else has arrived is taken in before it.
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
