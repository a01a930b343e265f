import { diskFault } from './disk-budget.ts'

interface DiskOptions {
  /** Size of the allocation's disk. */
  readonly totalBytes: number
  /** Bytes that the allocation takes now. */
  measure(): Promise<number>
}

/**
 * The disks of allocations that fetch artifacts. Tasks of one allocation fetch at the same time and
 * share its disk: what all of them take counts together.
 */
export class AllocationDisks {
  readonly #open = new Map<string, AllocationDisk>()

  /** Works with the disk of one allocation, which is measured when the first fetch begins. */
  async use<T>(
    allocationId: string,
    options: DiskOptions,
    work: (disk: AllocationDisk) => Promise<T>,
  ): Promise<T> {
    const disk = this.#open.get(allocationId) ?? new AllocationDisk(options)
    this.#open.set(allocationId, disk)
    disk.users += 1
    try {
      await disk.measured()
      return await work(disk)
    } finally {
      disk.users -= 1
      if (disk.users === 0) this.#open.delete(allocationId)
    }
  }
}

export class AllocationDisk {
  users = 0
  readonly #options: DiskOptions
  #measuring: Promise<number> | undefined
  #base = 0
  readonly #fetches = new Map<symbol, number>()

  constructor(options: DiskOptions) {
    this.#options = options
  }

  async measured(): Promise<void> {
    this.#measuring ??= this.#options.measure().then((bytes) => (this.#base = bytes))
    await this.#measuring
  }

  get totalBytes(): number {
    return this.#options.totalBytes
  }

  /** Bytes that are left for everybody. */
  get freeBytes(): number {
    return this.#options.totalBytes - this.#base - this.#fetching()
  }

  /** One fetch, whose bytes count until it ends, and beyond when they stay. */
  begin(): DiskShare {
    const id = Symbol('fetch')
    this.#fetches.set(id, 0)
    const limits = { bytesMax: this.freeBytes, totalBytes: this.totalBytes }
    return {
      ...limits,
      used: (bytes) => {
        this.#fetches.set(id, bytes)
        if (this.freeBytes < 0) throw diskFault(limits)
      },
      end: ({ stays }) => {
        if (stays) this.#base += this.#fetches.get(id) ?? 0
        this.#fetches.delete(id)
      },
    }
  }

  #fetching(): number {
    return [...this.#fetches.values()].reduce((total, bytes) => total + bytes, 0)
  }
}

export interface DiskShare {
  readonly bytesMax: number
  readonly totalBytes: number
  /** Fault `task-artifact` when the fetches of the allocation take more than it has. */
  used(bytes: number): void
  end(outcome: { readonly stays: boolean }): void
}
