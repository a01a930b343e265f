import { assert } from '@reeve/kit/fault.ts'

/**
 * Identifies a log entry. A database that was set back reuses an index and perhaps a term; it never
 * reuses the nonce of an append.
 */
export interface EntryId {
  readonly index: number
  readonly term: number
  /** Empty if the log does not have the entry: the database is empty or was restored. */
  readonly nonce: string
}

/** Kind of the Fault of a server whose state does not come from the log that it reads. */
export const LOG_DIVERGED = 'log-diverged'

/** Id for a server that has applied nothing. */
export const NO_ENTRY: EntryId = { index: 0, term: 0, nonce: '' }

/** The ends of the log as one statement saw them. */
export interface LogEnd {
  readonly firstIndex: number
  readonly lastIndex: number
  /** The entry at the requested index; undefined if the log has none. */
  readonly entry: EntryId | undefined
}

/**
 * The last applied entry compared with the log. `same`: the log has that entry, and so every entry
 * before it, since entries are only appended. `behind`: the entry was trimmed. `diverged`: the log
 * ends earlier, or has another entry at that index.
 */
type LogComparison = 'same' | 'behind' | 'diverged'

export function compareWithLog(applied: EntryId, log: LogEnd): LogComparison {
  if (log.lastIndex < applied.index) return 'diverged'
  if (log.entry !== undefined) return isSameEntry(applied, log.entry) ? 'same' : 'diverged'
  if (applied.index + 1 < log.firstIndex) return 'behind'
  return applied.nonce === '' ? 'same' : 'behind'
}

function isSameEntry(one: EntryId, other: EntryId): boolean {
  return one.index === other.index && one.term === other.term && one.nonce === other.nonce
}

/** Acknowledged commits that the log does not have. */
export interface LostRange {
  readonly fromIndex: number
  readonly toIndex: number
}

export interface FoundLoss extends LostRange {
  /** Nonce of the first lost append: servers that find the same loss get the same nonce. */
  readonly nonce: string
}

/** The entries of one append. */
interface AppendedRange {
  readonly firstIndex: number
  lastIndex: number
  readonly term: number
  readonly nonce: string
}

/** Appends that are kept: a standby that lags further behind is not promoted. */
const APPENDS_MAX = 20_000

/**
 * The entries that this process has applied, or appended and acknowledged, newest last. It outlives
 * the state built from them: when the log turns out to have changed, it shows how much is lost.
 */
export class LogHistory {
  #appends: AppendedRange[] = []

  get last(): EntryId {
    const newest = this.#appends.at(-1)
    if (newest === undefined) return NO_ENTRY
    return { index: newest.lastIndex, term: newest.term, nonce: newest.nonce }
  }

  /** Oldest index of the history. */
  get firstIndex(): number {
    return this.#appends[0]?.firstIndex ?? this.last.index + 1
  }

  /** Adds an entry. Indexes may have gaps: entries that were loaded as rows. */
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
    // Trims in steps: moving twenty thousand items at each append would cost more than the append.
    if (this.#appends.length > APPENDS_MAX * 2) this.#appends = this.#appends.slice(-APPENDS_MAX)
  }

  /**
   * Returns the entries that are lost, given the log's entries from `firstEventIndex` on. Undefined
   * if the log has the last entry.
   */
  findLoss(logEntries: readonly EntryId[]): FoundLoss | undefined {
    const entriesByIndex = new Map(logEntries.map((entry) => [entry.index, entry]))
    const isInLog = (index: number, { term, nonce }: AppendedRange): boolean => {
      const found = entriesByIndex.get(index)
      return found !== undefined && isSameEntry(found, { index, term, nonce })
    }
    // An append is in the log completely or not at all.
    const at = this.#appends.findLastIndex((append) => isInLog(append.lastIndex, append))
    const [lastKept, firstLost] = [this.#appends[at], this.#appends[at + 1]]
    if (firstLost === undefined) return undefined
    const fromIndex = lastKept === undefined ? firstLost.firstIndex : lastKept.lastIndex + 1
    return { fromIndex, toIndex: this.last.index, nonce: firstLost.nonce }
  }

  /** Drops the entries from an index on, which the log does not have. */
  truncate(fromIndex: number): void {
    this.#appends = this.#appends.filter(({ lastIndex }) => lastIndex < fromIndex)
  }
}
