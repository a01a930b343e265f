import type { Assignment } from './assignment.ts'

interface CoreReservationsOptions {
  /** How many cores the node has. */
  coreCount(): number
  /** The cores that tasks without any of their own may use have changed; empty: any. */
  changed(shared: readonly number[]): Promise<void>
}

/**
 * The cores that allocations of this node have for themselves. They stay reserved as long as the
 * allocation is on the node, also between two starts of a task.
 */
export class CoreReservations {
  readonly #options: CoreReservationsOptions
  readonly #reserved = new Map<string, readonly number[]>()

  constructor(options: CoreReservationsOptions) {
    this.#options = options
  }

  /** For tasks without cores of their own; empty: any, because none is reserved or all are. */
  get shared(): readonly number[] {
    const reserved = new Set([...this.#reserved.values()].flat())
    if (reserved.size === 0) return []
    const all = Array.from({ length: this.#options.coreCount() }, (_, core) => core)
    return all.filter((core) => !reserved.has(core))
  }

  /** Resolves when the other tasks of the node are off the cores. Safe to repeat. */
  async reserve({ allocation }: Assignment): Promise<void> {
    const tasks = Object.values(allocation.AllocatedResources.Tasks)
    const cores = tasks.flatMap(({ Cpu }) => Cpu.ReservedCores ?? [])
    if (cores.length === 0) return
    this.#reserved.set(allocation.ID, cores)
    await this.#options.changed(this.shared)
  }

  async release(allocationId: string): Promise<void> {
    if (this.#reserved.delete(allocationId)) await this.#options.changed(this.shared)
  }
}
