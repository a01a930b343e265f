import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import type { StoredRow } from './stored-row.ts'

/**
 * What the store needs of a storage engine. The log of commits is the truth; stored rows are its
 * checkpoint. Engines treat all texts as opaque. One shared suite (test/suites/storage-engine.ts)
 * holds every implementation to these comments.
 */
export interface StorageEngine {
  /** Where the engine stood when it was opened. */
  readonly opened: EnginePosition

  /**
   * Makes entries durable, all or none, in order. Resolves only after a power cut could no longer
   * lose them. Entries are consecutive and follow the last entry appended or found at opening.
   * Never called again before the last call settled. A rejection (Fault) leaves the outcome open:
   * the entries may or may not be there after the next opening, but never half of one.
   * Fault kinds: `storage-full`, `storage-fenced` (another leader wrote), `storage-closed`,
   * `storage-failed`.
   */
  append(entries: readonly NewLogEntry[]): Promise<void>

  /** The checkpointed rows, in batches, in no promised order. */
  load(): AsyncIterable<readonly StoredRow[]>

  /**
   * Log entries with index ≥ `fromIndex` that are still kept, ascending, up to the last durable one
   * at the time of the call. Without blobs.
   */
  read(fromIndex: number): AsyncIterable<LogEntry>

  /**
   * Writes rows (text undefined deletes), then marks the checkpoint at `mark.upTo`. May be
   * interrupted at any point: the mark moves only after all rows are durable. Calling it again with
   * the same rows does no harm.
   */
  checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointMark): Promise<void>

  /**
   * Forgets log entries with index < `beforeIndex`. Never reaches past the checkpoint: the engine
   * clamps.
   */
  trim(beforeIndex: number): Promise<void>

  /** The bytes last put under the key by a durable entry; undefined when there are none. */
  readBlob(key: string): Promise<Uint8Array | undefined>

  /**
   * Waits for running calls, releases everything. Later calls reject with `storage-closed`. Safe to
   * call twice.
   */
  close(): Promise<void>
}

/** What may be written after a failed write: everything, commits that delete rows, or nothing. */
export type Recovery = 'all' | 'deletes' | 'none'

/** An engine that can go on after a write failed because the disk was full or read-only. */
export interface RecoverableEngine extends StorageEngine {
  /**
   * Takes back what a failed append left, so that its entries are certainly not there, and says
   * what may be written now. Called again after `deletes` and `none` until it resolves with `all`.
   * Never called while an append runs, unless the last call resolved with `deletes`.
   */
  recover(): Promise<Recovery>
}

export function isRecoverable(engine: StorageEngine): engine is RecoverableEngine {
  return 'recover' in engine
}

/** An engine whose whole content can go to another, and come from one. */
export interface MovableEngine extends StorageEngine {
  /** Every blob, in no promised order. */
  blobs(): AsyncIterable<StoredBlob>

  /** Puts blobs without a log entry. Only while content is received. */
  putBlobs(blobs: readonly StoredBlob[]): Promise<void>

  /**
   * Makes an empty engine one whose entries before `firstIndex` are all checkpointed and forgotten:
   * the next append begins there.
   */
  beginAt(firstIndex: number): Promise<void>
}

export interface StoredBlob {
  readonly key: string
  readonly bytes: Uint8Array
}

/** What a freshly opened engine holds. An empty one: indexes 0, no tables. */
export interface EnginePosition {
  /** Index of the last durable log entry; 0 when nothing was ever written. */
  readonly lastIndex: number
  /** Index of the oldest entry still kept; lastIndex + 1 when none is. */
  readonly firstIndex: number
  readonly checkpoint: CheckpointMark
}

export interface CheckpointMark {
  /** All entries up to this index are in the rows. */
  readonly upTo: number
  /** Index of the last write to each table: deletes must not make it go back. */
  readonly tableIndexes: Readonly<Record<string, number>>
}

/** One commit as the engine keeps it. */
export interface LogEntry {
  readonly index: number
  readonly timeMs: number
  /** The encoded commit (state/codec.ts). */
  readonly text: string
  /** Large values written beside the log in the same atomic step; undefined deletes. */
  readonly blobs: readonly BlobChange[]
}

/** A commit that is given to the engine. */
export interface NewLogEntry extends Omit<LogEntry, 'text'> {
  /** May be made anew whenever it is asked for: to be asked for once, when it is written. */
  readonly text: StringChunks
}

export interface BlobChange {
  readonly key: string
  readonly bytes: Uint8Array | undefined
}

export interface CheckpointRow {
  readonly table: string
  readonly key: string
  readonly text: StringChunks | undefined
}
