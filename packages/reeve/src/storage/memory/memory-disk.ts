import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type { CheckpointMark, CheckpointRow, LogEntry, NewLogEntry } from '../../state/index.ts'

/** A row that was not deleted. */
export interface WrittenRow extends CheckpointRow {
  readonly text: string
}

/** What outlives a memory engine: hand it to the next opening and a restart has been simulated. */
export class MemoryDisk {
  readonly log = new Map<number, LogEntry>()
  readonly rows = new Map<string, WrittenRow>()
  readonly blobs = new Map<string, Uint8Array>()
  firstIndex = 1
  lastIndex = 0
  checkpoint: CheckpointMark = { upTo: 0, tableIndexes: {} }
  /** Counts openings. Whoever opened before the last one has been fenced off. */
  openings = 0

  write(entries: readonly NewLogEntry[]): void {
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

  /** The kept entries from one index to another, both included. */
  entries(from: number, to: number): LogEntry[] {
    const found: LogEntry[] = []
    for (let index = Math.max(from, this.firstIndex); index <= to; index++) {
      const entry = this.log.get(index)
      if (entry !== undefined) found.push(entry)
    }
    return found
  }

  beginAt(firstIndex: number): void {
    this.firstIndex = firstIndex
    this.lastIndex = firstIndex - 1
    this.checkpoint = { upTo: firstIndex - 1, tableIndexes: {} }
  }

  forget(beforeIndex: number): void {
    for (; this.firstIndex < beforeIndex; this.firstIndex++) this.log.delete(this.firstIndex)
  }
}
