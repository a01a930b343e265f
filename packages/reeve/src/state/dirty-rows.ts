/** A row that can be written: which round of `DirtyRows` it was last written in. */
export interface Dirtied {
  readonly key: string
  round: number
}

/** The round of a row that nobody has written since it was loaded. */
export const CLEAN = 0
/** The round of a row that was deleted. */
const GONE = -1

/** Rows of a checkpoint, by the order in which they were first written. */
export interface DirtyPart {
  readonly from: number
  readonly to: number
  /** Whether it has the keys to delete too. The first part has them. */
  readonly hasDeleted: boolean
}

const WHOLE: DirtyPart = { from: 0, to: Number.POSITIVE_INFINITY, hasDeleted: true }

/**
 * Which rows of a table were written since its last checkpoint, and what they were when that began.
 * A note of a write costs a comparison and a push; the rows of a checkpoint are put into words
 * piece by piece, as the engine takes them. Those that are written again meanwhile are put into
 * words before: a checkpoint is of one moment, and nobody waits while it is made.
 */
export class DirtyRows<Slot extends Dirtied, Words> {
  readonly #inWords: (slot: Slot) => Words
  #round = 1
  #written: Slot[] = []
  readonly #deleted = new Set<string>()
  #checkpoint: Checkpoint<Slot, Words> | undefined

  constructor(inWords: (slot: Slot) => Words) {
    this.#inWords = inWords
  }

  /** How many there are. A row that was written and then deleted counts twice. */
  get size(): number {
    return this.#written.length + this.#deleted.size
  }

  /** How many rows were written since the last checkpoint began, in the order of first writes. */
  get writtenCount(): number {
    return this.#written.length
  }

  /** Before a row is written anew, or after it was first made. */
  write(slot: Slot): void {
    if (slot.round === this.#round) return
    this.#keep(slot)
    slot.round = this.#round
    this.#written.push(slot)
  }

  /** Before a row is deleted. */
  delete(slot: Slot): void {
    this.#keep(slot)
    slot.round = GONE
    this.#deleted.add(slot.key)
  }

  /** A key that is free, and was not when the last checkpoint was written. */
  noteDeleted(key: string): void {
    this.#deleted.add(key)
  }

  /** Somebody else writes the checkpoints. */
  forget(): void {
    if (this.size === 0) return
    this.begin()
    this.end(true)
  }

  /** What is dirty now is what the checkpoint writes, as it is now. */
  begin(): void {
    this.#checkpoint = {
      written: this.#written,
      deleted: [...this.#deleted],
      kept: new Map(),
    }
    this.#round++
    this.#written = []
    this.#deleted.clear()
  }

  /** The keys to delete, then the rows to write: a deleted one may have come back. */
  *rows(part: DirtyPart = WHOLE): Generator<readonly [key: string, words: Words | undefined]> {
    if (this.#checkpoint === undefined) return
    const { written, deleted, kept } = this.#checkpoint
    if (part.hasDeleted) for (const key of deleted) yield [key, undefined]
    const end = Math.min(part.to, written.length)
    for (let at = part.from; at < end; at++) {
      const slot = written[at]
      if (slot === undefined) continue
      const words = kept.get(slot) ?? (slot.round === GONE ? undefined : this.#inWords(slot))
      kept.delete(slot)
      // A row that is written again after this point belongs to the next checkpoint alone.
      if (slot.round === this.#round - 1) slot.round = CLEAN
      if (words !== undefined) yield [slot.key, words]
    }
  }

  /** Ends the checkpoint. What could not be written is as dirty as before. */
  end(isWritten: boolean): void {
    const checkpoint = this.#checkpoint
    this.#checkpoint = undefined
    if (checkpoint === undefined || isWritten) return
    for (const key of checkpoint.deleted) this.#deleted.add(key)
    for (const slot of checkpoint.written) if (slot.round !== GONE) this.write(slot)
  }

  #keep(slot: Slot): void {
    const checkpoint = this.#checkpoint
    // Any other row is not in the checkpoint, or kept already.
    if (checkpoint === undefined || slot.round !== this.#round - 1) return
    checkpoint.kept.set(slot, this.#inWords(slot))
  }
}

interface Checkpoint<Slot, Words> {
  readonly written: readonly Slot[]
  readonly deleted: readonly string[]
  /** Rows as they were when it began, of those that were written again. */
  readonly kept: Map<Slot, Words>
}
