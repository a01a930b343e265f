import type { PagedList } from '../data/use-list.ts'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { Failure } from './failure.tsx'
import { Loading } from './loading.tsx'

interface ListViewProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'hasMore' | 'onEnd'> {
  readonly list: PagedList<Row>
  /** What is loaded, for the words while it is. */
  readonly what: string
}

/** A list that comes in pages: on its way, refused, empty, or as a table. */
export function ListView<Row>({ list, what, ...table }: ListViewProps<Row>) {
  if (list.error !== null) return <Failure error={list.error} />
  if (list.isPending) return <Loading what={what} />
  return <DataTable {...table} rows={list.items} hasMore={list.hasMore} onEnd={list.loadMore} />
}
