import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Store, Table } from '../../state/index.ts'

/** A job in the order of changes; its row is read only when it is shown. */
export interface JobIndexEntry {
  readonly modifyIndex: number
  readonly key: string
  /** Index at which this entry was superseded or the job deleted; 0 while it is current. */
  readonly supersededAt: number
  /** Common filter fields, read from the row once. */
  readonly fields: IndexedJobFields
}

/** Fields of a job that are kept with the order. */
type IndexedJobFields = Pick<Job, (typeof INDEXED_JOB_FIELDS)[number]>

export const INDEXED_JOB_FIELDS = [
  'ID',
  'Namespace',
  'Name',
  'Type',
  'Status',
  'Stop',
  'Priority',
] as const

/** Compares by newest change first; a commit may change several jobs. */
function compareEntries(
  a: Pick<JobIndexEntry, 'modifyIndex' | 'key'>,
  b: Pick<JobIndexEntry, 'modifyIndex' | 'key'>,
): number {
  return b.modifyIndex - a.modifyIndex || compareText(a.key, b.key)
}

/** The order at an index. Later changes do not affect it. */
export interface JobIndexSnapshot {
  /**
   * Entries by oldest change first, including those superseded at or before `index`, which are
   * skipped.
   */
  readonly entries: readonly JobIndexEntry[]
  readonly count: number
  readonly index: number
}

/** Compact once superseded entries outnumber live ones by this margin. */
const SUPERSEDED_MIN = 1_024

/**
 * All jobs in the order of their changes. Sorted on first use; afterwards a changed job moves to
 * the end, so that the cost of a write or a page does not depend on the number of jobs.
 */
export class JobsByModifyIndex {
  readonly #jobs: Table<Job>
  #entries: LazyEntry[] = []
  #entryByKey: Map<string, LazyEntry> | undefined
  #isObserving = false
  /** Entries from here on are in the order in which one commit wrote them, and unsorted. */
  #sortedTo = 0

  constructor({ tables }: Store) {
    this.#jobs = tables.jobs
  }

  get snapshot(): JobIndexSnapshot {
    if (this.#entryByKey === undefined) this.#build()
    this.#sortLastCommit()
    return { entries: this.#entries, count: this.#entries.length, index: this.#jobs.lastIndex }
  }

  #build(): void {
    if (!this.#isObserving) this.#jobs.onKeyChange((key) => this.#onKeyChange(key))
    this.#isObserving = true
    this.#entries = entriesOf(this.#jobs, this.#jobs.keys())
    this.#entryByKey = new Map(this.#entries.map((entry) => [entry.key, entry]))
    this.#sortedTo = this.#entries.length
  }

  #onKeyChange(key: string): void {
    const entryByKey = this.#entryByKey
    if (entryByKey === undefined) return
    const modifyIndex = this.#jobs.modifyIndexOf(key)
    const superseded = entryByKey.get(key)
    if (superseded !== undefined) superseded.supersededAt = modifyIndex ?? this.#jobs.lastIndex
    entryByKey.delete(key)
    if (modifyIndex === undefined) return
    // A rolled-back change would have to return to its old position.
    if (modifyIndex < (this.#entries.at(-1)?.modifyIndex ?? 0)) {
      this.#entryByKey = undefined
      return
    }
    const entry = new LazyEntry(this.#jobs, key, modifyIndex)
    entryByKey.set(key, entry)
    this.#entries.push(entry)
    if (this.#entries.length > 2 * entryByKey.size + SUPERSEDED_MIN) this.#compact()
  }

  /** Copies the current entries to a new array: running walks continue on the old one. */
  #compact(): void {
    this.#sortLastCommit()
    this.#entries = this.#entries.filter((entry) => entry.supersededAt === 0)
    this.#sortedTo = this.#entries.length
  }

  /**
   * Sorts the entries of the last commit. Orders handed out end before them: a commit is written in
   * one tick.
   */
  #sortLastCommit(): void {
    if (this.#sortedTo === this.#entries.length) return
    const tail = this.#entries.slice(this.#sortedTo).toSorted((a, b) => compareEntries(b, a))
    for (const [i, entry] of tail.entries()) this.#entries[this.#sortedTo + i] = entry
    this.#sortedTo = this.#entries.length
  }
}

/** Returns the entries of the named jobs that exist. */
export function snapshotOfKeys(
  { tables: { jobs } }: Store,
  keys: Iterable<string>,
): JobIndexSnapshot {
  const entries = entriesOf(jobs, keys)
  return { entries, count: entries.length, index: jobs.lastIndex }
}

function entriesOf(jobs: Table<Job>, keys: Iterable<string>): LazyEntry[] {
  const found: LazyEntry[] = []
  for (const key of keys) {
    const modifyIndex = jobs.modifyIndexOf(key)
    if (modifyIndex !== undefined) found.push(new LazyEntry(jobs, key, modifyIndex))
  }
  return found.toSorted((a, b) => compareEntries(b, a))
}

class LazyEntry implements JobIndexEntry {
  readonly #jobs: Table<Job>
  readonly key: string
  readonly modifyIndex: number
  supersededAt = 0
  #fields: IndexedJobFields | undefined

  constructor(jobs: Table<Job>, key: string, modifyIndex: number) {
    this.#jobs = jobs
    this.key = key
    this.modifyIndex = modifyIndex
  }

  get fields(): IndexedJobFields {
    this.#fields ??= indexedFieldsOf(this.#jobs.find(this.key))
    return this.#fields
  }
}

const MISSING_JOB_FIELDS: IndexedJobFields = {
  ID: '',
  Namespace: '',
  Name: '',
  Type: '',
  Status: 'dead',
  Stop: false,
  Priority: 0,
}

function indexedFieldsOf(job: Job | undefined): IndexedJobFields {
  if (job === undefined) return MISSING_JOB_FIELDS
  const { ID, Namespace, Name, Type, Status, Stop, Priority } = job
  return { ID, Namespace, Name, Type, Status, Stop, Priority }
}

/** Walks from a position on (inclusive), newest change first or in reverse. */
export function* scanJobIndex(
  { entries, count, index }: JobIndexSnapshot,
  start: Pick<JobIndexEntry, 'modifyIndex' | 'key'> | undefined,
  reverse: boolean,
): Generator<JobIndexEntry> {
  let position = reverse ? 0 : count - 1
  if (start !== undefined)
    position = reverse
      ? lowerBoundWhere(count, (i) => compareAt(entries, i, start) <= 0)
      : lowerBoundWhere(count, (i) => compareAt(entries, i, start) < 0) - 1
  for (; position >= 0 && position < count; position += reverse ? 1 : -1) {
    const entry = entries[position]
    if (entry !== undefined && (entry.supersededAt === 0 || entry.supersededAt > index)) yield entry
  }
}

function compareAt(
  entries: readonly JobIndexEntry[],
  at: number,
  start: Pick<JobIndexEntry, 'modifyIndex' | 'key'>,
): number {
  return compareEntries(entries[at] ?? start, start)
}

/** Returns the first position below `count` from which on `holds` is true. */
function lowerBoundWhere(count: number, predicate: (at: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (predicate(middle)) high = middle
    else low = middle + 1
  }
  return low
}
