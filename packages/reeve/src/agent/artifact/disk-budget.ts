import { Fault } from '@reeve/kit/fault.ts'

export interface DiskLimits {
  /** Bytes that are left of the allocation's disk. */
  readonly bytesMax: number
  /** Size of the whole disk, for the message. */
  readonly totalBytes: number
  /** Files, directories and links. */
  readonly entriesMax: number
}

/** Every file, directory and link takes at least one block of the disk. */
const DISK_BLOCK_BYTES = 4_096

/**
 * Counts the bytes and entries of one artifact while they are written, against the disk of its
 * allocation. Fault `task-artifact` past a limit.
 */
export class DiskBudget {
  readonly #limits: DiskLimits
  readonly #onChange: (bytes: number) => void
  #bytes = 0
  #entries = 0

  constructor(limits: DiskLimits, changed: (bytes: number) => void = () => undefined) {
    this.#limits = limits
    this.#onChange = changed
  }

  get entriesMax(): number {
    return this.#limits.entriesMax
  }

  /** Fails before anything is written, where the size is known in advance. */
  requireFree(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.bytesMax) throw diskFullFault(this.#limits)
  }

  /** A file outside the tree, such as the archive before it is unpacked. */
  addFile(): FileCharge {
    return new FileCharge((bytes) => this.#charge(bytes))
  }

  /** An entry of the delivered tree. */
  addEntry(): FileCharge {
    this.#entries += 1
    if (this.#entries > this.#limits.entriesMax) throw tooManyEntriesFault(this.#limits.entriesMax)
    return this.addFile()
  }

  /** Sets the measured size of the output of another program. */
  setMeasured(bytes: number): void {
    this.#charge(bytes - this.#bytes)
  }

  #charge(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limits.bytesMax) throw diskFullFault(this.#limits)
    this.#onChange(this.#bytes)
  }
}

class FileCharge {
  readonly #charge: (bytes: number) => void
  #size = 0
  #charged = 0

  constructor(charge: (bytes: number) => void) {
    this.#charge = charge
    this.#setCharge(DISK_BLOCK_BYTES)
  }

  addBytes(count: number): void {
    this.#size += count
    if (this.#size > this.#charged) {
      this.#setCharge(Math.ceil(this.#size / DISK_BLOCK_BYTES) * DISK_BLOCK_BYTES)
    }
  }

  /** The file was removed; its bytes no longer count. */
  release(): void {
    this.#setCharge(0)
  }

  #setCharge(bytes: number): void {
    const difference = bytes - this.#charged
    this.#charged = bytes
    this.#charge(difference)
  }
}

export type { FileCharge }

function diskFullFault({ bytesMax, totalBytes }: Omit<DiskLimits, 'entriesMax'>): Fault {
  const remaining = `${formatMebibytes(bytesMax)} of ${formatMebibytes(totalBytes)} are left`
  return new Fault(
    'task-artifact',
    `it does not fit on the allocation's disk: ${remaining}, for the download and what it unpacks to ` +
      'together; raise ephemeral_disk.size',
  )
}

export function tooManyEntriesFault(entriesMax: number): Fault {
  return new Fault(
    'task-artifact',
    `it holds more than ${entriesMax} files, directories and links, the most that this node ` +
      'allows (client.artifact.max_entries)',
  )
}

/** Rounded down: the remaining space must not look larger than it is. */
function formatMebibytes(bytes: number): string {
  return `${Math.floor((Math.max(0, bytes) / 1024 ** 2) * 100) / 100} MiB`
}

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
