import { diskFullFault } from './disk-budget.ts'

interface AllocationDiskOptions {
  /** Size of the allocation's disk. */
  readonly totalBytes: number
  /** Disk usage of the allocation in bytes. */
  measure(): Promise<number>
}

/**
 * Disks of allocations that are fetching artifacts. Tasks of one allocation fetch in parallel and
 * share its disk, so their usage is added up.
 */
export class AllocationDisks {
  readonly #disksInUse = new Map<string, AllocationDisk>()

  /** Uses the disk of an allocation, which is measured before its first fetch. */
  async use<T>(
    allocationId: string,
    options: AllocationDiskOptions,
    work: (disk: AllocationDisk) => Promise<T>,
  ): Promise<T> {
    const disk = this.#disksInUse.get(allocationId) ?? new AllocationDisk(options)
    this.#disksInUse.set(allocationId, disk)
    disk.userCount += 1
    try {
      await disk.ensureMeasured()
      return await work(disk)
    } finally {
      disk.userCount -= 1
      if (disk.userCount === 0) this.#disksInUse.delete(allocationId)
    }
  }
}

export class AllocationDisk {
  userCount = 0
  readonly #options: AllocationDiskOptions
  #measuring: Promise<number> | undefined
  #measuredBytes = 0
  readonly #bytesByFetch = new Map<symbol, number>()

  constructor(options: AllocationDiskOptions) {
    this.#options = options
  }

  async ensureMeasured(): Promise<void> {
    this.#measuring ??= this.#options.measure().then((bytes) => (this.#measuredBytes = bytes))
    await this.#measuring
  }

  get totalBytes(): number {
    return this.#options.totalBytes
  }

  /** Bytes available to all fetches. */
  get freeBytes(): number {
    return this.#options.totalBytes - this.#measuredBytes - this.#fetchingBytes()
  }

  /**
   * Reserves space for one fetch. Its bytes count until it ends, and permanently if it succeeds.
   */
  reserve(): DiskReservation {
    const id = Symbol('fetch')
    this.#bytesByFetch.set(id, 0)
    const limits = { bytesMax: this.freeBytes, totalBytes: this.totalBytes }
    return {
      ...limits,
      report: (bytes) => {
        this.#bytesByFetch.set(id, bytes)
        if (this.freeBytes < 0) throw diskFullFault(limits)
      },
      release: ({ stays }) => {
        if (stays) this.#measuredBytes += this.#bytesByFetch.get(id) ?? 0
        this.#bytesByFetch.delete(id)
      },
    }
  }

  #fetchingBytes(): number {
    return [...this.#bytesByFetch.values()].reduce((total, bytes) => total + bytes, 0)
  }
}

export interface DiskReservation {
  readonly bytesMax: number
  readonly totalBytes: number
  /** Fault `task-artifact` if the fetches of the allocation exceed its disk. */
  report(bytes: number): void
  release(outcome: { readonly stays: boolean }): void
}
