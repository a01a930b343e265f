import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import type { StoredRow } from './commit.ts'

/**
 * Storage engine port of the store. The log of commits is the source of truth; stored rows are its
 * checkpoint. Engines treat all texts as opaque. One shared suite (test/suites/storage-engine.ts)
 * verifies every implementation against these comments.
 */
export interface StorageEngine {
  /** Position of the engine when it was opened. */
  readonly initialPosition: EnginePosition

  /**
   * Makes entries durable, all or none, in order. Resolves only after a power cut could no longer
   * lose them. Entries are consecutive and follow the last entry appended or found at opening.
   * Never called again before the last call settled. A rejection (Fault) leaves the outcome open:
   * the entries may or may not be there after the next opening, but never half of one.
   * Fault kinds: `storage-full`, `storage-fenced` (another leader wrote), `storage-closed`,
   * `storage-failed`.
   */
  append(entries: readonly AppendEntry[]): Promise<void>

  /** The checkpointed rows, in batches, in no promised order. */
  load(): AsyncIterable<readonly StoredRow[]>

  /**
   * Log entries with index ≥ `fromIndex` that are still kept, ascending, up to the last durable one
   * at the time of the call. Without blobs.
   */
  read(fromIndex: number): AsyncIterable<LogEntry>

  /**
   * Writes rows (undefined text deletes), then moves the checkpoint to `mark.upTo`. May be
   * interrupted at any point: the checkpoint moves only after all rows are durable. Idempotent for
   * the same rows.
   */
  checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointPosition): Promise<void>

  /**
   * Deletes log entries with index < `beforeIndex`. Entries after the checkpoint are kept: the
   * engine clamps the index.
   */
  trim(beforeIndex: number): Promise<void>

  /** Bytes last stored under the key by a durable entry; undefined if there are none. */
  readBlob(key: string): Promise<Uint8Array | undefined>

  /**
   * Waits for running calls and releases all resources. Later calls reject with `storage-closed`.
   * Idempotent.
   */
  close(): Promise<void>
}

/** Writes accepted after a failed write: all commits, only commits that delete rows, or none. */
export type Recovery = 'all' | 'deletes' | 'none'

/** An engine that can recover after a write failed because the disk was full or read-only. */
export interface RecoverableEngine extends StorageEngine {
  /**
   * Rolls back a failed append, so that its entries certainly do not exist, and returns which
   * writes are accepted now. Called again after `deletes` and `none` until it resolves with `all`.
   * Never called while an append runs, unless the last call resolved with `deletes`.
   */
  recover(): Promise<Recovery>
}

export function isRecoverable(engine: StorageEngine): engine is RecoverableEngine {
  return 'recover' in engine
}

/** An engine whose complete content can be copied to and from another engine. */
export interface MigratableEngine extends StorageEngine {
  /** Every blob, in no promised order. */
  blobs(): AsyncIterable<StoredBlob>

  /** Stores blobs without a log entry. Only allowed while content is imported. */
  putBlobs(blobs: readonly StoredBlob[]): Promise<void>

  /**
   * Initializes an empty engine as if all entries before `firstEventIndex` were checkpointed and
   * trimmed: the next append starts there.
   */
  startLogAt(firstIndex: number): Promise<void>
}

export interface StoredBlob {
  readonly key: string
  readonly bytes: Uint8Array
}

/**
 * Position of a freshly opened engine; all indexes are 0 and there are no tables if it is empty.
 */
export interface EnginePosition {
  /** Index of the last durable log entry; 0 when nothing was ever written. */
  readonly lastIndex: number
  /** Index of the oldest kept entry; lastCheckedIndex + 1 if there is none. */
  readonly firstIndex: number
  readonly checkpoint: CheckpointPosition
}

export interface CheckpointPosition {
  /** The rows contain all entries up to this index. */
  readonly upTo: number
  /** Index of the last write to each table; a delete of the newest row must not decrease it. */
  readonly tableIndexes: Readonly<Record<string, number>>
}

/** One stored log entry. */
export interface LogEntry {
  readonly index: number
  readonly timeMs: number
  /** The encoded commit (state/commit-codec.ts). */
  readonly text: string
  /** Large values written beside the log in the same atomic step; undefined deletes. */
  readonly blobs: readonly BlobChange[]
}

/** A log entry to append. */
export interface AppendEntry extends Omit<LogEntry, 'text'> {
  /** Encoded on every access: read it once, when it is written. */
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
