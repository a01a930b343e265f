import { useState, type ReactNode } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import type { PagedList } from '../../data/use-list.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import type { DataTableProps } from '../../parts/data-table.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { SearchField } from '../../parts/search-field.tsx'

interface SearchedListProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'hasMore' | 'onEnd'> {
  readonly list: PagedList<Row>
  /** What is searched by name: `teams`. */
  readonly things: string
  /** Of the address. */
  readonly text: string
  /** What else narrows the list. */
  readonly filters?: ReactNode
  readonly create: {
    /** On the button: `New team…`. */
    readonly action: string
    readonly refusal: Verdict
    /** The form, in a window. */
    readonly form: (onClose: () => void) => ReactNode
  }
}

/** What an organization has of one kind: found by name, opened, and made. */
export function SearchedList<Row>(props: SearchedListProps<Row>) {
  const { things, text, filters, create, ...table } = props
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <div className="filters">
        <SearchField label={`Search ${things} by name`} name="q" value={text} />
        {filters}
        <ActionButton kind="primary" refusal={create.refusal} onAct={() => setCreating(true)}>
          {create.action}
        </ActionButton>
      </div>
      <PagedTable what={`the ${things}`} {...table} />
      {isCreating && create.form(() => setCreating(false))}
    </>
  )
}
