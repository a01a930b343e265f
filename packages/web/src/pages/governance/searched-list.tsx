import { useState, type ReactNode } from 'react'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import type { PagedList } from '../../data/lists.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { type DataTableProps, PagedTable } from '../../components/data-table.tsx'
import { SearchField } from '../../components/filters.tsx'

interface SearchableListProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'hasMore' | 'onEnd'> {
  readonly list: PagedList<Row>
  /** Plural name of the listed resources, such as `teams`. */
  readonly resourceNames: string
  /** The search text of the URL. */
  readonly searchText: string
  /** Further filters. */
  readonly filters?: ReactNode
  readonly create: {
    /** Label of the button, such as `New team…`. */
    readonly action: string
    readonly disabledReason: DisabledReason
    /** Renders the dialog. */
    readonly form: (onClose: () => void) => ReactNode
  }
}

/** A list of resources of an organization, with search by name and a button to create one. */
export function SearchableList<Row>(props: SearchableListProps<Row>) {
  const { resourceNames, searchText, filters, create, ...table } = props
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <div className="filters">
        <SearchField label={`Search ${resourceNames} by name`} name="q" value={searchText} />
        {filters}
        <ActionButton
          kind="primary"
          disabledReason={create.disabledReason}
          onAction={() => setCreating(true)}
        >
          {create.action}
        </ActionButton>
      </div>
      <PagedTable what={`the ${resourceNames}`} {...table} />
      {isCreating && create.form(() => setCreating(false))}
    </>
  )
}
