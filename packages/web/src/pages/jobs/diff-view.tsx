import type { DiffType, JobDiff } from '@reeve/contract'
import { diffRows, type DiffRow } from './diff-rows.ts'

interface DiffViewProps {
  readonly diff: JobDiff
  /** Headings of the two sides. */
  readonly oldTitle: string
  readonly newTitle: string
}

const CHANGE_SYMBOLS: Readonly<Record<DiffType, string>> = {
  Added: '+',
  Deleted: '−',
  Edited: '±',
  None: '',
}

/** A job diff as a table, old values on the left and new ones on the right. */
export function DiffView({ diff, oldTitle, newTitle }: DiffViewProps) {
  const rows = diffRows(diff)
  if (rows.length === 0) return <p className="quiet">No changes.</p>
  return (
    <div className="table-box">
      <table className="diff" aria-label={`Differences: ${oldTitle}, ${newTitle}`}>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">{oldTitle}</th>
            <th scope="col">{newTitle}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            // Rows have no key, and the list is always rendered completely.
            // oxlint-disable-next-line react/no-array-index-key
            <Row key={index} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({ row }: { readonly row: DiffRow }) {
  const indent = { paddingLeft: 12 + row.depth * 16 }
  const notes = row.notes.length > 0 && <span className="quiet"> ({row.notes.join(', ')})</span>
  if (row.kind === 'head')
    return (
      <tr className="diff-head">
        <th colSpan={3} scope="colgroup" style={indent}>
          <span className="diff-mark">{CHANGE_SYMBOLS[row.type]}</span> {row.text}
          {notes}
        </th>
      </tr>
    )
  return (
    <tr>
      <th scope="row" style={indent}>
        <span className="diff-mark">{CHANGE_SYMBOLS[row.type]}</span> {row.name}
        {notes}
      </th>
      <td className={row.type === 'Added' ? '' : 'diff-old'}>{row.old}</td>
      <td className={row.type === 'Deleted' ? '' : 'diff-new'}>{row.new}</td>
    </tr>
  )
}
