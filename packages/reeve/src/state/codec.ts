import type { Commit, CommittedRow } from './commit.ts'
import type { EncodedRow, RowHeader } from './table.ts'

/**
 * Texts of the log and the checkpoint: lines of JSON, so that any tool can read a data directory
 * and a row's text goes from commit to log to checkpoint to event without being encoded again.
 *
 *   commit:  {"index":7,"timeMs":…,"events":[…]}      row:  [create, modify, layout, group, …]
 *            ["jobs","default!web",[7,7,"k2"]]              {…the row…}
 *            {…the row…}
 *            ["evaluations","…",null]     (null: deleted; the line below is its last value)
 */
export function encodeRow(row: EncodedRow): string {
  return `${JSON.stringify(row.header)}\n${row.body}`
}

export function decodeRow(text: string): EncodedRow {
  const end = text.indexOf('\n')
  // encodeRow wrote this line from a RowHeader.
  return { header: JSON.parse(text.slice(0, end)) as RowHeader, body: text.slice(end + 1) }
}

export function encodeCommit(commit: Commit): string {
  const { rows, ...head } = commit
  const lines = [JSON.stringify(head)]
  for (const row of rows)
    lines.push(JSON.stringify([row.table, row.key, row.header ?? null]), row.body)
  return lines.join('\n')
}

export function decodeCommit(text: string): Commit {
  const [headLine = '', ...lines] = text.split('\n')
  const rows: CommittedRow[] = []
  for (let at = 0; at + 1 < lines.length; at += 2) {
    // encodeCommit wrote this line from a CommittedRow.
    const [table, key, header] = JSON.parse(lines[at] ?? '') as [string, string, RowHeader | null]
    rows.push({ table, key, header: header ?? undefined, body: lines[at + 1] ?? '' })
  }
  // encodeCommit wrote this line from a Commit without its rows.
  return { ...(JSON.parse(headLine) as Omit<Commit, 'rows'>), rows }
}
