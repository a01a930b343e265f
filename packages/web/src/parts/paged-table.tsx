import type { PagedList } from '../data/use-list.ts'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { Failure } from './failure.tsx'
import { Loading } from './loading.tsx'

interface PagedTableProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'hasMore' | 'onEnd'> {
  readonly list: PagedList<Row>
  /** What is loaded, for the words while it is. */
  readonly what: string
}

/** A list that comes in pages: drawn, or why it is not. */
export function PagedTable<Row>({ list, what, ...table }: PagedTableProps<Row>) {
  if (list.error !== null) return <Failure error={list.error} retry={list.retry} />
  if (list.isPending) return <Loading what={what} />
  return <DataTable {...table} rows={list.items} hasMore={list.hasMore} onEnd={list.loadMore} />
}
