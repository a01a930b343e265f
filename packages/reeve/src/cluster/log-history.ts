import { assert } from '@reeve/kit/fault.ts'

/**
 * Identifies an entry of the log. A database that went back in time uses an index, and perhaps a
 * term, a second time; the nonce of an append it never repeats.
 */
export interface EntryId {
  readonly index: number
  readonly term: number
  /** Empty where the log does not hold the entry: of an empty or restored database. */
  readonly nonce: string
}

/** The kind of the fault of a server whose state does not come from the log that it reads. */
export const LOG_DIVERGED = 'log-diverged'

/** Of a server that has applied nothing. */
export const NO_ENTRY: EntryId = { index: 0, term: 0, nonce: '' }

/** The log as one statement saw it. */
export interface LogEnd {
  readonly firstIndex: number
  readonly lastIndex: number
  /** The entry that the log holds at the index that was asked for; undefined when none. */
  readonly entry: EntryId | undefined
}

/**
 * What the log says about the last entry that a server has applied. `same`: it holds that entry, so
 * everything before it too, since entries are only appended. `behind`: the entry was trimmed.
 * `diverged`: the log ends earlier, or holds another entry at that index.
 */
export type LogComparison = 'same' | 'behind' | 'diverged'

export function compareWithLog(applied: EntryId, log: LogEnd): LogComparison {
  if (log.lastIndex < applied.index) return 'diverged'
  if (log.entry !== undefined) return isSameEntry(applied, log.entry) ? 'same' : 'diverged'
  if (applied.index + 1 < log.firstIndex) return 'behind'
  return applied.nonce === '' ? 'same' : 'behind'
}

function isSameEntry(one: EntryId, other: EntryId): boolean {
  return one.index === other.index && one.term === other.term && one.nonce === other.nonce
}

/** Commits that a server knows to be acknowledged and that the log does not hold. */
export interface LostRange {
  readonly fromIndex: number
  readonly toIndex: number
}

export interface FoundLoss extends LostRange {
  /** The nonce of the first append that is gone: whoever finds the same loss finds the same one. */
  readonly nonce: string
}

/** The entries of one append. */
interface AppendedRange {
  readonly firstIndex: number
  lastIndex: number
  readonly term: number
  readonly nonce: string
}

/** Appends that are remembered: a standby that is further behind is not one that is promoted. */
const APPENDS_MAX = 20_000

/**
 * Which entries this process has applied, or appended and acknowledged, newest last. It outlives
 * the state that the entries were applied to: when the log turns out to be another, it tells how
 * much of it is gone.
 */
export class LogHistory {
  #appends: AppendedRange[] = []

  get last(): EntryId {
    const newest = this.#appends.at(-1)
    if (newest === undefined) return NO_ENTRY
    return { index: newest.lastIndex, term: newest.term, nonce: newest.nonce }
  }

  /** Oldest index that is remembered. */
  get firstIndex(): number {
    return this.#appends[0]?.firstIndex ?? this.last.index + 1
  }

  /** Indexes may be skipped: those that were loaded as rows. */
  add({ index, term, nonce }: EntryId): void {
    const newest = this.#appends.at(-1)
    if (newest !== undefined && index <= newest.lastIndex) {
      assert(
        isSameEntry(this.last, { index, term, nonce }),
        'entries are remembered in their order',
      )
      return
    }
    if (newest?.nonce === nonce && newest.term === term && newest.lastIndex + 1 === index)
      newest.lastIndex = index
    else this.#appends.push({ firstIndex: index, lastIndex: index, term, nonce })
    // In steps: to move twenty thousand at each append would cost more than the append.
    if (this.#appends.length > APPENDS_MAX * 2) this.#appends = this.#appends.slice(-APPENDS_MAX)
  }

  /**
   * What is gone of it, given the entries that the log holds from `firstIndex` on. Undefined when
   * the log holds the last entry.
   */
  lostFrom(held: readonly EntryId[]): FoundLoss | undefined {
    const noncesHeld = new Map(held.map((entry) => [entry.index, entry]))
    const isHeld = (index: number, { term, nonce }: AppendedRange): boolean => {
      const found = noncesHeld.get(index)
      return found !== undefined && isSameEntry(found, { index, term, nonce })
    }
    // An append is there as a whole or not at all.
    const at = this.#appends.findLastIndex((append) => isHeld(append.lastIndex, append))
    const [known, gone] = [this.#appends[at], this.#appends[at + 1]]
    if (gone === undefined) return undefined
    const fromIndex = known === undefined ? gone.firstIndex : known.lastIndex + 1
    return { fromIndex, toIndex: this.last.index, nonce: gone.nonce }
  }

  /** Forgets the entries from an index on: the log does not hold them. */
  truncate(fromIndex: number): void {
    this.#appends = this.#appends.filter(({ lastIndex }) => lastIndex < fromIndex)
  }
}
