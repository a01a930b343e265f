import type { PagedList } from '../data/use-list.ts'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { ErrorMessage } from './failure.tsx'
import { Loading } from './loading.tsx'

interface PagedTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'hasMore' | 'onEnd'> {
  readonly list: PagedList<Row>
  /** Name of the content, for the loading text. */
  readonly what: string
}

/** A table of a paginated list, with its loading and error states. */
export function PagedTable<Row>({ list, what, ...table }: PagedTableProps<Row>) {
  if (list.error !== null) return <ErrorMessage error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what={what} />
  return (
    <DataTable {...table} rows={list.items} hasMore={list.hasMore} onEndReached={list.loadMore} />
  )
}
