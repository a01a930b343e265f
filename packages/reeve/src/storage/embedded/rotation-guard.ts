import { readdirSync } from 'node:fs'
import { syncFolder } from './durable-file.ts'
import { walNumbers } from './leveldb/inspect-database.ts'

export interface RotationFolder {
  /** Names of the files in the database's folder. */
  list(): readonly string[]
  /** Makes the folder's entries durable. */
  sync(): Promise<void>
}

/**
 * Closes a gap in the database's durability. When its buffer in memory is full it goes on in a new
 * write-ahead log file, and a synced write syncs that file but not the folder the file is named in.
 * Until the next change of the manifest a power cut may forget the name, and the writes with it.
 *
 * So after each write we ask whether a new log file appeared, and if so sync the folder before the
 * write counts as durable. Most writes need no look at the folder: a log file can only change after
 * the buffer's size in bytes was written, and `memoryBytesMax` bounds what a write may take of it.
 */
export class RotationGuard {
  readonly #folder: RotationFolder
  readonly #bufferBytes: number
  #newest: number
  /** The most that can be in the database's buffer by now. */
  #bufferedMax = BUFFER_BYTES_EMPTY
  #writingMax = 0
  #synced: Promise<void> | undefined

  constructor(folder: RotationFolder, bufferBytes: number) {
    this.#folder = folder
    this.#bufferBytes = bufferBytes
    this.#newest = newestWal(folder)
  }

  /** Runs a write that takes at most `bytesMax` of the buffer. Resolves when it is durable. */
  async run(bytesMax: number, write: () => Promise<void>): Promise<void> {
    this.#bufferedMax += bytesMax
    this.#writingMax += bytesMax
    try {
      await write()
      if (this.#bufferedMax > this.#bufferBytes) this.#look()
      // Also when another write saw the new file: ours may be in it.
      await this.#synced
    } finally {
      this.#writingMax -= bytesMax
    }
  }

  #look(): void {
    const newest = newestWal(this.#folder)
    if (newest === this.#newest) return
    this.#newest = newest
    // The new buffer holds at most the writes that are still on their way here.
    this.#bufferedMax = BUFFER_BYTES_EMPTY + this.#writingMax
    this.#synced = this.#folder.sync()
  }
}

export function rotationFolder(path: string): RotationFolder {
  return {
    // Not asynchronous: a folder that was just written to is in memory.
    list: () => readdirSync(path),
    sync: () => syncFolder(path),
  }
}

/** One block of the buffer's allocator, and its first node. */
const BUFFER_BYTES_EMPTY = 4_096 + 256
/** Sequence, lengths, the tallest possible node, alignment and bookkeeping of one key. */
const KEY_OVERHEAD_BYTES = 144

/** The most that a key and value take of the buffer: up to a quarter of its blocks stays unused. */
export function memoryBytesMax(keyBytes: number, valueBytes: number): number {
  return Math.ceil(((keyBytes + valueBytes + KEY_OVERHEAD_BYTES) * 4) / 3)
}

function newestWal(folder: RotationFolder): number {
  return walNumbers(folder.list()).at(-1) ?? 0
}
