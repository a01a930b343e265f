import type { Commit, CommittedRow, EventMark } from './commit.ts'
import { addWholeText, IN_ONE, isSameText, type RowText } from './row-text.ts'
import type { RestoredRow, RowHeader, RowIndexes, StoredRow } from './stored-row.ts'

/**
 * Texts of the log and the checkpoint: lines of JSON, so that any tool can read a data directory
 * and a row's text goes from commit to log to checkpoint to event without being encoded again.
 *
 *   commit:  {"index":7,"timeMs":…,"events":[…]}      row:  [create, modify, layout, group, …]
 *            ["jobs","default!web",[7,7]]                   {…the row…}
 *            {…the row…}
 *            ["job_versions","…",[7,7]]
 *                                         (an empty line: the text of the row before)
 *            ["evaluations","…",null]     (null: deleted; the line below is its last value)
 *
 * A commit does not tell the groups of its rows: few commits are ever read again, and those who do
 * decode the row. A job and its version are one text, which is half of what a registration writes.
 *
 * Events of one kind about rows that follow each other are one entry: a plan of a thousand
 * allocations would otherwise say the same a thousand times.
 */
export function encodeRow(header: RowHeader, text: RowText): readonly string[] {
  const parts = [`${JSON.stringify(header)}\n`]
  addWholeText(parts, text)
  return parts
}

export function decodeRow({ firstLine, rest }: StoredRow): RestoredRow {
  // encodeRow wrote this line from a RowHeader.
  return { header: JSON.parse(firstLine) as RowHeader, body: rest ?? '' }
}

/** In parts that follow each other: a commit of a thousand rows is never one text in memory. */
export function encodeCommit(commit: Commit): readonly string[] {
  const { index, timeMs, rows } = commit
  const parts = [JSON.stringify({ index, timeMs, events: encodeEvents(commit) })]
  let before: CommittedRow | undefined
  for (const row of rows) {
    const { table, key, header, text } = row
    const indexes = header === undefined ? 'null' : `[${header[0]},${header[1]}]`
    // Rows of one table that follow each other are different ones: they need not be compared.
    const isSame = before !== undefined && before.table !== table && isSameText(before.text, text)
    parts.push(`\n["${table}",${JSON.stringify(key)},${indexes}]\n`)
    // An empty line stands for the text of the row before. No row has an empty text.
    if (!isSame) addWholeText(parts, text)
    before = row
  }
  return parts
}

export function decodeCommit(text: string): Commit {
  const [headLine = '', ...lines] = text.split('\n')
  const rows: CommittedRow[] = []
  for (let at = 0; at + 1 < lines.length; at += 2) {
    // encodeCommit wrote this line from a CommittedRow; once it told the groups too.
    const [table, key, header] = JSON.parse(lines[at] ?? '') as [string, string, RowIndexes | null]
    const body = lines[at + 1] ?? ''
    const same = body === '' ? rows.at(-1)?.text : undefined
    rows.push({
      table,
      key,
      header: header === null ? undefined : [header[0], header[1]],
      text: same ?? { ...IN_ONE, body },
    })
  }
  // encodeCommit wrote this line.
  const { index, timeMs, events } = JSON.parse(headLine) as EncodedHead
  return { index, timeMs, events: decodeEvents(events, rows), rows }
}

interface EncodedHead {
  readonly index: number
  readonly timeMs: number
  /** Single marks were written before there were runs. */
  readonly events: readonly (EventRun | EventMark)[]
}

/**
 * Events of one kind about rows that follow each other. Behind the first row: how many they are, or
 * of a single one its key, where that is not the row's.
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
  for (const mark of events) {
    const { Topic, Type, Namespace, FilterKeys, Key, row } = mark
    const isOwnKey = rows[row]?.key === Key
    const last = runs.at(-1)
    if (isOwnKey && last !== undefined && continues(last, mark)) last[5] += 1
    else runs.push([Topic, Type, Namespace, FilterKeys, row, isOwnKey ? 1 : Key])
  }
  return runs
}

function continues(run: EventRun, mark: EventMark): run is [...EventRunHead, rest: number] {
  const [topic, type, namespace, filterKeys, first, rest] = run
  return (
    typeof rest === 'number' &&
    first + rest === mark.row &&
    topic === mark.Topic &&
    type === mark.Type &&
    namespace === mark.Namespace &&
    isSameList(filterKeys, mark.FilterKeys)
  )
}

type EventRunHead = [
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
  runs: EncodedHead['events'],
  rows: readonly CommittedRow[],
): readonly EventMark[] {
  return runs.flatMap((run) => {
    if (!Array.isArray(run)) return [run]
    const [Topic, Type, Namespace, FilterKeys, first, rest] = run
    const mark = (row: number, Key: string): EventMark => {
      return { Topic, Type, Key, Namespace, FilterKeys, row }
    }
    if (typeof rest === 'string') return [mark(first, rest)]
    const keyed = rows.slice(first, first + rest)
    return keyed.map(({ key }, i) => mark(first + i, key))
  })
}
