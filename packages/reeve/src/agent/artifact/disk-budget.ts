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
const BLOCK_BYTES = 4_096

/**
 * Counts the bytes and entries of one artifact while they are written, against the disk of its
 * allocation. Fault `task-artifact` past a limit.
 */
export class DiskBudget {
  readonly #limits: DiskLimits
  readonly #changed: (bytes: number) => void
  #bytes = 0
  #entries = 0

  constructor(limits: DiskLimits, changed: (bytes: number) => void = () => undefined) {
    this.#limits = limits
    this.#changed = changed
  }

  get entriesMax(): number {
    return this.#limits.entriesMax
  }

  /** Fails before anything is written, where the size is known in advance. */
  requireFree(bytes: number): void {
    if (this.#bytes + bytes > this.#limits.bytesMax) throw diskFault(this.#limits)
  }

  /** A file beside the tree, such as the archive before it is unpacked. */
  addFile(): FileCharge {
    return new FileCharge((bytes) => this.#charge(bytes))
  }

  /** An entry of the tree that is delivered. */
  addEntry(): FileCharge {
    this.#entries += 1
    if (this.#entries > this.#limits.entriesMax) throw entriesFault(this.#limits.entriesMax)
    return this.addFile()
  }

  /** Where another program writes, its output is measured as a whole. */
  setMeasured(bytes: number): void {
    this.#charge(bytes - this.#bytes)
  }

  #charge(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limits.bytesMax) throw diskFault(this.#limits)
    this.#changed(this.#bytes)
  }
}

class FileCharge {
  readonly #charge: (bytes: number) => void
  #size = 0
  #charged = 0

  constructor(charge: (bytes: number) => void) {
    this.#charge = charge
    this.#chargeTo(BLOCK_BYTES)
  }

  addBytes(count: number): void {
    this.#size += count
    if (this.#size > this.#charged) {
      this.#chargeTo(Math.ceil(this.#size / BLOCK_BYTES) * BLOCK_BYTES)
    }
  }

  /** The file was removed. */
  release(): void {
    this.#chargeTo(0)
  }

  #chargeTo(bytes: number): void {
    const more = bytes - this.#charged
    this.#charged = bytes
    this.#charge(more)
  }
}

export type { FileCharge }

export function diskFault({ bytesMax, totalBytes }: Omit<DiskLimits, 'entriesMax'>): Fault {
  const left = `${mebibytes(bytesMax)} of ${mebibytes(totalBytes)} are left`
  return new Fault(
    'task-artifact',
    `it does not fit on the allocation's disk: ${left}, for the download and what it unpacks to ` +
      'together; raise ephemeral_disk.size',
  )
}

export function entriesFault(entriesMax: number): Fault {
  return new Fault(
    'task-artifact',
    `it holds more than ${entriesMax} files, directories and links, the most that this node ` +
      'allows (client.artifact.max_entries)',
  )
}

/** Rounded down: what is left must not look like more than it is. */
function mebibytes(bytes: number): string {
  return `${Math.floor((Math.max(0, bytes) / 1024 ** 2) * 100) / 100} MiB`
}
