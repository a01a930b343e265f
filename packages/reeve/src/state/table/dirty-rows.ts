/** A row whose last write is recorded as an epoch of `DirtyRows`. */
export interface TrackedRow {
  readonly key: string
  epoch: number
}

/** Epoch of a row that was not written since it was loaded or checkpointed. */
export const CLEAN_EPOCH = 0
/** Epoch of a deleted row. */
const DELETED = -1

/** A range of checkpoint rows in the order in which they were first written. */
export interface DirtyRange {
  readonly from: number
  readonly to: number
  /** True for the first range, which includes the deleted keys. */
  readonly hasDeleted: boolean
}

const ALL_ROWS: DirtyRange = { from: 0, to: Number.POSITIVE_INFINITY, hasDeleted: true }

/**
 * Rows changed since the last checkpoint. Recording a write costs a comparison and a push. Rows are
 * encoded lazily as the engine consumes them; a row that is overwritten meanwhile is encoded first
 * (copy on write), so the checkpoint is consistent and writers never wait.
 */
export class DirtyRows<Slot extends TrackedRow, Words> {
  readonly #encode: (slot: Slot) => Words
  #epoch = 1
  #written: Slot[] = []
  readonly #deleted = new Set<string>()
  #checkpoint: Checkpoint<Slot, Words> | undefined

  constructor(inWords: (slot: Slot) => Words) {
    this.#encode = inWords
  }

  /** Number of dirty rows. A row that was written and then deleted counts twice. */
  get size(): number {
    return this.#written.length + this.#deleted.size
  }

  /** Number of rows written since the last checkpoint began. */
  get writtenCount(): number {
    return this.#written.length
  }

  /** Called before an existing row is overwritten or after a new one was created. */
  beforeWrite(slot: Slot): void {
    if (slot.epoch === this.#epoch) return
    this.#preserve(slot)
    slot.epoch = this.#epoch
    this.#written.push(slot)
  }

  /** Called before a row is deleted. */
  beforeDelete(slot: Slot): void {
    this.#preserve(slot)
    slot.epoch = DELETED
    this.#deleted.add(slot.key)
  }

  /** Records a deleted key whose row is in the last checkpoint. */
  markDeleted(key: string): void {
    this.#deleted.add(key)
  }

  /** Discards all records, because the leader writes the checkpoints. */
  clear(): void {
    if (this.size === 0) return
    this.beginCheckpoint()
    this.endCheckpoint(true)
  }

  /** Starts a checkpoint of the rows that are dirty now, with their current values. */
  beginCheckpoint(): void {
    this.#checkpoint = {
      written: this.#written,
      deleted: [...this.#deleted],
      preserved: new Map(),
    }
    this.#epoch++
    this.#written = []
    this.#deleted.clear()
  }

  /** Yields the deleted keys, then the rows to write: a deleted row may exist again. */
  *rows(part: DirtyRange = ALL_ROWS): Generator<readonly [key: string, words: Words | undefined]> {
    if (this.#checkpoint === undefined) return
    const { written, deleted, preserved } = this.#checkpoint
    if (part.hasDeleted) for (const key of deleted) yield [key, undefined]
    const end = Math.min(part.to, written.length)
    for (let position = part.from; position < end; position++) {
      const slot = written[position]
      if (slot === undefined) continue
      const encoded =
        preserved.get(slot) ?? (slot.epoch === DELETED ? undefined : this.#encode(slot))
      preserved.delete(slot)
      // A row that is written again after this point belongs to the next checkpoint alone.
      if (slot.epoch === this.#epoch - 1) slot.epoch = CLEAN_EPOCH
      if (encoded !== undefined) yield [slot.key, encoded]
    }
  }

  /** Ends the checkpoint. After a failure its rows are dirty again. */
  endCheckpoint(isWritten: boolean): void {
    const checkpoint = this.#checkpoint
    this.#checkpoint = undefined
    if (checkpoint === undefined || isWritten) return
    for (const key of checkpoint.deleted) this.#deleted.add(key)
    for (const slot of checkpoint.written) if (slot.epoch !== DELETED) this.beforeWrite(slot)
  }

  #preserve(slot: Slot): void {
    const checkpoint = this.#checkpoint
    // Other rows are not in the checkpoint or already preserved.
    if (checkpoint === undefined || slot.epoch !== this.#epoch - 1) return
    checkpoint.preserved.set(slot, this.#encode(slot))
  }
}

interface Checkpoint<Slot, Words> {
  readonly written: readonly Slot[]
  readonly deleted: readonly string[]
  /** Original values of rows that were overwritten since the checkpoint began. */
  readonly preserved: Map<Slot, Words>
}
