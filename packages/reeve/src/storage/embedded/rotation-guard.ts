import { readdirSync } from 'node:fs'
import { fsyncDirectory } from './durable-file.ts'
import { walNumbers } from './leveldb/inspect-database.ts'

export interface WalDirectory {
  /** Names of the files in the database directory. */
  list(): readonly string[]
  /** Makes the directory entries durable. */
  sync(): Promise<void>
}

/**
 * Closes a gap in the durability of LevelDB. When its write buffer is full, it starts a new
 * write-ahead log file; a synced write syncs that file, but not the directory entry. Until the next
 * manifest change a power cut may lose the name, and the writes with it. So after each write this
 * class checks for a new log file and syncs the directory before the write counts as durable. Most
 * writes need no directory read: a new log file can appear only after the write buffer's size in
 * bytes was written, and `memtableBytesMax` bounds the space of a write.
 */
export class WalRotationGuard {
  readonly #directory: WalDirectory
  readonly #bufferBytes: number
  #newestWal: number
  /** Upper bound of the bytes in the write buffer. */
  #bufferedBytesMax = EMPTY_BUFFER_BYTES
  #inFlightBytesMax = 0
  #directorySync: Promise<void> | undefined

  constructor(folder: WalDirectory, bufferBytes: number) {
    this.#directory = folder
    this.#bufferBytes = bufferBytes
    this.#newestWal = newestWal(folder)
  }

  /**
   * Runs a write that takes at most `bytesMax` of the buffer. Resolves when the write is durable.
   */
  async run(bytesMax: number, write: () => Promise<void>): Promise<void> {
    this.#bufferedBytesMax += bytesMax
    this.#inFlightBytesMax += bytesMax
    try {
      await write()
      if (this.#bufferedBytesMax > this.#bufferBytes) this.#checkRotation()
      // Also wait if another write found the new file: this write may be in it.
      await this.#directorySync
    } finally {
      this.#inFlightBytesMax -= bytesMax
    }
  }

  #checkRotation(): void {
    const newest = newestWal(this.#directory)
    if (newest === this.#newestWal) return
    this.#newestWal = newest
    // The new buffer contains at most the writes in flight.
    this.#bufferedBytesMax = EMPTY_BUFFER_BYTES + this.#inFlightBytesMax
    this.#directorySync = this.#directory.sync()
  }
}

export function walDirectory(path: string): WalDirectory {
  return {
    // Synchronous: a directory that was just written is cached.
    list: () => readdirSync(path),
    sync: () => fsyncDirectory(path),
  }
}

/** One block of the buffer's allocator, and its first node. */
const EMPTY_BUFFER_BYTES = 4_096 + 256
/** Sequence, lengths, the tallest possible node, alignment and bookkeeping of one key. */
const KEY_OVERHEAD_BYTES = 144

/**
 * Upper bound of the buffer space of a key and value: up to a quarter of each block stays unused.
 */
export function memtableBytesMax(keyBytes: number, valueBytes: number): number {
  return Math.ceil(((keyBytes + valueBytes + KEY_OVERHEAD_BYTES) * 4) / 3)
}

function newestWal(folder: WalDirectory): number {
  return walNumbers(folder.list()).at(-1) ?? 0
}
