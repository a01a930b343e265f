import type { Assignment } from './assignment.ts'

interface CoreReservationsOptions {
  /** Number of cores of the node. */
  coreCount(): number
  /**
   * Called when the cores for tasks without reserved cores change; an empty list means all cores.
   */
  onSharedCoresChanged(shared: readonly number[]): Promise<void>
}

/**
 * The cores that are reserved by allocations of this node. A reservation lasts as long as the
 * allocation is on the node, including the time between two starts of a task.
 */
export class CoreReservations {
  readonly #options: CoreReservationsOptions
  readonly #coresByAllocation = new Map<string, readonly number[]>()

  constructor(options: CoreReservationsOptions) {
    this.#options = options
  }

  /**
   * Cores for tasks without reserved cores. Empty means all cores, because none or all of them are
   * reserved.
   */
  get sharedCores(): readonly number[] {
    const reserved = new Set([...this.#coresByAllocation.values()].flat())
    if (reserved.size === 0) return []
    const all = Array.from({ length: this.#options.coreCount() }, (_, core) => core)
    return all.filter((core) => !reserved.has(core))
  }

  /** Resolves when the other tasks of the node have left the reserved cores. Idempotent. */
  async reserve({ allocation }: Assignment): Promise<void> {
    const tasks = Object.values(allocation.AllocatedResources.Tasks)
    const cores = tasks.flatMap(({ Cpu }) => Cpu.ReservedCores ?? [])
    if (cores.length === 0) return
    this.#coresByAllocation.set(allocation.ID, cores)
    await this.#options.onSharedCoresChanged(this.sharedCores)
  }

  async release(allocationId: string): Promise<void> {
    if (this.#coresByAllocation.delete(allocationId))
      await this.#options.onSharedCoresChanged(this.sharedCores)
  }
}
