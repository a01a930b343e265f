import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type { CheckpointPosition, CheckpointRow, LogEntry, AppendEntry } from '../../state/index.ts'

/** A stored row. */
export interface StoredMemoryRow extends CheckpointRow {
  readonly text: string
}

/** State that survives a memory engine: passing it to the next engine simulates a restart. */
export class MemoryDisk {
  readonly log = new Map<number, LogEntry>()
  readonly rows = new Map<string, StoredMemoryRow>()
  readonly blobs = new Map<string, Uint8Array>()
  firstIndex = 1
  lastIndex = 0
  checkpoint: CheckpointPosition = { upTo: 0, tableIndexes: {} }
  /** Number of openings. Engines of earlier openings are fenced. */
  openCount = 0

  append(entries: readonly AppendEntry[]): void {
    for (const entry of entries) {
      this.log.set(entry.index, { ...entry, text: joinChunks(entry.text), blobs: [] })
      this.lastIndex = entry.index
      for (const { key, bytes } of entry.blobs) {
        // A copy: the caller may use its buffer again.
        if (bytes === undefined) this.blobs.delete(key)
        else this.blobs.set(key, bytes.slice())
      }
    }
  }

  /** Kept entries of an index range, both ends included. */
  entries(from: number, to: number): LogEntry[] {
    const found: LogEntry[] = []
    for (let index = Math.max(from, this.firstIndex); index <= to; index++) {
      const entry = this.log.get(index)
      if (entry !== undefined) found.push(entry)
    }
    return found
  }

  startLogAt(firstIndex: number): void {
    this.firstIndex = firstIndex
    this.lastIndex = firstIndex - 1
    this.checkpoint = { upTo: firstIndex - 1, tableIndexes: {} }
  }

  trim(beforeIndex: number): void {
    for (; this.firstIndex < beforeIndex; this.firstIndex++) this.log.delete(this.firstIndex)
  }
}
