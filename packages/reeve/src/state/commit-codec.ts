import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import type {
  Commit,
  CommittedRow,
  EventRef,
  LoadedRow,
  RowHeader,
  RowIndexes,
  StoredRow,
} from './commit.ts'
import type { BlobChange, AppendEntry } from './engine.ts'
import { pushRowJson, UNSPLIT, isSameText, type RowJson } from './table/row-json.ts'

/**
 * Texts of the log and the checkpoint: lines of JSON, so that any tool can read a data directory
 * and a row's text goes from commit to log to checkpoint to event without being encoded again.
 *
 *   commit:  {"index":7,"timeMs":…,"events":[…]}      row:  [create, modify, layout, key, …]
 *            ["jobs","default!web",[7,7]]                   {…the row…}
 *            {…the row…}
 *            ["job_versions","…",[7,7]]
 *                                         (an empty line: the text of the row before)
 *            ["evaluations","…",null]     (null: deleted; the line below is its last value)
 *
 * A stored row has a hash of the index names of its table (`layout`) and its key in each index. A
 * commit does not contain the index keys of its rows: few commits are ever read again, and their
 * readers decode the rows. A job and its version share one text, which is half of the bytes of a
 * registration.
 *
 * Events of one kind for consecutive rows are one entry: a plan of a thousand allocations would
 * otherwise repeat the same entry a thousand times.
 */
export function encodeRow(header: RowHeader, text: RowJson): readonly string[] {
  const parts = [`${JSON.stringify(header)}\n`]
  pushRowJson(parts, text)
  return parts
}

export function decodeRow({ headerLine, body }: StoredRow): LoadedRow {
  // `encodeRow` wrote this line from a RowHeader.
  return { header: JSON.parse(headerLine) as RowHeader, body: body ?? '' }
}

/**
 * Returns the commit in chunks, so that a commit of a thousand rows is never one string in memory.
 */
export function encodeCommit(commit: Commit): readonly string[] {
  const { index, timeMs, rows } = commit
  const parts = [JSON.stringify({ index, timeMs, events: encodeEvents(commit) })]
  let previousRow: CommittedRow | undefined
  for (const row of rows) {
    const { table, key, header, text } = row
    const indexes = header === undefined ? 'null' : `[${header[0]},${header[1]}]`
    // Consecutive rows of the same table are always different and need no comparison.
    const repeatsPrevious =
      previousRow !== undefined && previousRow.table !== table && isSameText(previousRow.text, text)
    parts.push(`\n["${table}",${JSON.stringify(key)},${indexes}]\n`)
    // An empty line means the same JSON as the previous row. No row has empty JSON.
    if (!repeatsPrevious) pushRowJson(parts, text)
    previousRow = row
  }
  return parts
}

export function decodeCommit(text: string): Commit {
  const [headerLine = '', ...lines] = text.split('\n')
  const rows: CommittedRow[] = []
  for (let lineIndex = 0; lineIndex + 1 < lines.length; lineIndex += 2) {
    // `encodeCommit` wrote this line from a CommittedRow; earlier versions also wrote the index
    // keys.
    const [table, key, header] = JSON.parse(lines[lineIndex] ?? '') as [
      string,
      string,
      RowIndexes | null,
    ]
    const body = lines[lineIndex + 1] ?? ''
    const repeatedText = body === '' ? rows.at(-1)?.text : undefined
    rows.push({
      table,
      key,
      header: header === null ? undefined : [header[0], header[1]],
      text: repeatedText ?? { ...UNSPLIT, body },
    })
  }
  // encodeCommit wrote this line.
  const { index, timeMs, events } = JSON.parse(headerLine) as CommitHeader
  return { index, timeMs, events: decodeEvents(events, rows), rows }
}

interface CommitHeader {
  readonly index: number
  readonly timeMs: number
  /** Earlier versions wrote single events instead of runs. */
  readonly events: readonly (EventRun | EventRef)[]
}

/**
 * A run of events of one kind for consecutive rows. The last element is the number of rows, or for
 * a single event its key if that differs from the row's key.
 */
type EventRun = [
  Topic: string,
  Type: string,
  Namespace: string,
  FilterKeys: readonly string[] | null,
  first: number,
  rest: number | string,
]

function encodeEvents({ events, rows }: Commit): readonly EventRun[] {
  const runs: EventRun[] = []
  for (const event of events) {
    const { Topic, Type, Namespace, FilterKeys, Key, row } = event
    const hasRowKey = rows[row]?.key === Key
    const last = runs.at(-1)
    if (hasRowKey && last !== undefined && extendsRun(last, event)) last[5] += 1
    else runs.push([Topic, Type, Namespace, FilterKeys, row, hasRowKey ? 1 : Key])
  }
  return runs
}

function extendsRun(run: EventRun, event: EventRef): run is [...EventRunPrefix, rest: number] {
  const [topic, type, namespace, filterKeys, first, rest] = run
  return (
    typeof rest === 'number' &&
    first + rest === event.row &&
    topic === event.Topic &&
    type === event.Type &&
    namespace === event.Namespace &&
    isSameList(filterKeys, event.FilterKeys)
  )
}

type EventRunPrefix = [
  Topic: string,
  Type: string,
  Namespace: string,
  FilterKeys: readonly string[] | null,
  first: number,
]

function isSameList(a: readonly string[] | null, b: readonly string[] | null): boolean {
  if (a === null || b === null) return a === b
  return a.length === b.length && a.every((text, i) => text === b[i])
}

function decodeEvents(
  runs: CommitHeader['events'],
  rows: readonly CommittedRow[],
): readonly EventRef[] {
  return runs.flatMap((run) => {
    if (!Array.isArray(run)) return [run]
    const [Topic, Type, Namespace, FilterKeys, first, rest] = run
    const eventRef = (row: number, Key: string): EventRef => {
      return { Topic, Type, Key, Namespace, FilterKeys, row }
    }
    if (typeof rest === 'string') return [eventRef(first, rest)]
    const keyed = rows.slice(first, first + rest)
    return keyed.map(({ key }, i) => eventRef(first + i, key))
  })
}

/**
 * Encodes the commit when the engine writes it: strings created earlier would be promoted to the
 * old generation.
 */
export class CommitEntry implements AppendEntry {
  readonly index: number
  readonly timeMs: number
  readonly blobs: readonly BlobChange[]
  readonly #commit: Commit

  constructor(commit: Commit, blobs: readonly BlobChange[]) {
    this.index = commit.index
    this.timeMs = commit.timeMs
    this.blobs = blobs
    this.#commit = commit
  }

  get text(): StringChunks {
    return encodeCommit(this.#commit)
  }
}
