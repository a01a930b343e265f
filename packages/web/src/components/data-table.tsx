import { useVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import type { PagedList } from '../data/lists.ts'
import { Link } from '../routing/link.tsx'
import { hrefWith } from '../routing/location.ts'
import { ErrorMessage } from './error-message.tsx'
import { Loading } from './notices.tsx'
import { requiredWidth } from './layout.ts'
import { useListKeys } from './list-keys.ts'

export interface Column<Row> {
  readonly id: string
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** CSS width; columns without one share the remaining space. */
  readonly width?: string
  readonly align?: 'end'
  /** Hidden if the table is too narrow for all columns. */
  readonly isExtra?: boolean
  /** Sort key of the API; the heading becomes a link. */
  readonly sort?: string
}

export interface DataTableProps<Row> {
  /** Accessible name of the table. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Page of a row; its first cell becomes the link. */
  readonly hrefOf?: (row: Row) => string
  /** Shown when there are no rows. */
  readonly empty: ReactNode
  /** For paginated lists. */
  readonly hasMore?: boolean
  readonly onEndReached?: () => void
  /** Current sort key, such as `-name`; absent if the order is fixed. */
  readonly sort?: string
}

const ROW_PX = 40
/** Shorter lists are rendered completely, so that they can be searched and printed. */
const VIRTUALIZE_FROM_ROWS = 200
/** Number of rows before the end at which the next page is requested. */
const PREFETCH_ROWS = 30

/** A table. Long lists are virtualized: only visible rows are in the document. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, empty, hasMore = false } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const view = useVisibleRows(props, body)
  const [active, setActive] = useListKeys(body, { count: rows.length, scrollIntoView: view.reveal })
  if (rows.length === 0) return empty
  return (
    <div className="table-box">
      <table
        className="table"
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        data-room={requiredWidth(columns)}
      >
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <ColumnHeading key={column.id} column={column} current={props.sort} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Spacer height={view.above} />
          {view.indexes.map((index) => (
            <TableRow
              key={keyAt(props, index)}
              {...props}
              index={index}
              isActive={index === active}
              onFocus={() => setActive(index)}
            />
          ))}
          <Spacer height={view.below} />
        </tbody>
      </table>
      {hasMore && <Loading what="more" />}
    </div>
  )
}

interface ColumnHeadingProps<Row> {
  readonly column: Column<Row>
  readonly current: string | undefined
}

function ColumnHeading<Row>({ column, current }: ColumnHeadingProps<Row>) {
  const { head, width, align, isExtra, sort } = column
  const isSorted = current !== undefined && sort !== undefined
  const direction = current === sort ? 'ascending' : current === `-${sort}` ? 'descending' : 'none'
  return (
    <th
      scope="col"
      style={{ width }}
      className={classOf(align, isExtra)}
      aria-sort={isSorted ? direction : undefined}
    >
      {isSorted ? (
        <Link
          className="sort"
          href={hrefWith({ sort: direction === 'ascending' ? `-${sort}` : sort })}
        >
          {head} <span aria-hidden="true">{ARROWS[direction]}</span>
        </Link>
      ) : (
        head
      )}
    </th>
  )
}

const ARROWS = { ascending: '↑', descending: '↓', none: '↕' } as const

function keyAt<Row>({ rows, keyOf }: DataTableProps<Row>, index: number): string {
  const row = rows[index]
  return row === undefined ? `#${index}` : keyOf(row)
}

interface VisibleRows {
  readonly indexes: readonly number[]
  /** Height of the rows that are not rendered. */
  readonly above: number
  readonly below: number
  readonly reveal: (index: number) => void
}

function useVisibleRows<Row>(
  { rows, hasMore = false, onEndReached }: DataTableProps<Row>,
  body: { readonly current: HTMLElement | null },
): VisibleRows {
  const isVirtual = rows.length >= VIRTUALIZE_FROM_ROWS || hasMore
  const [margin, setMargin] = useState(0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => document.querySelector('#main'),
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: margin,
    enabled: isVirtual,
  })
  useLayoutEffect(() => {
    const main = document.querySelector('#main')
    if (body.current === null || main === null) return
    const top = body.current.getBoundingClientRect().top - main.getBoundingClientRect().top
    setMargin(top + main.scrollTop)
  }, [body, isVirtual, rows.length === 0])
  const items = virtual.getVirtualItems()
  const last = items.at(-1)
  const isNearEnd = hasMore && (last?.index ?? 0) >= rows.length - PREFETCH_ROWS
  useLayoutEffect(() => {
    if (isNearEnd) onEndReached?.()
  }, [isNearEnd, rows.length, onEndReached])
  if (!isVirtual) return { indexes: [...rows.keys()], above: 0, below: 0, reveal: () => undefined }
  const end = last === undefined ? 0 : last.end - margin
  return {
    indexes: items.map(({ index }) => index),
    above: (items[0]?.start ?? margin) - margin,
    below: Math.max(0, rows.length * ROW_PX - end),
    reveal: (index) => virtual.scrollToIndex(index),
  }
}

function Spacer({ height }: { readonly height: number }) {
  if (height <= 0) return null
  return (
    <tr aria-hidden="true" className="spacer">
      <td style={{ height }} />
    </tr>
  )
}

interface TableRowProps<Row> extends DataTableProps<Row> {
  readonly index: number
  readonly isActive: boolean
  readonly onFocus: () => void
}

function TableRow<Row>(props: TableRowProps<Row>) {
  const { columns, rows, hrefOf, index, isActive, onFocus } = props
  const row = rows[index]
  if (row === undefined) return null
  return (
    <tr
      aria-rowindex={index + 2}
      data-row={index}
      className={isActive ? 'active' : undefined}
      onFocus={onFocus}
    >
      {columns.map(({ id, cell, align, isExtra }, columnIndex) => (
        <td key={id} className={classOf(align, isExtra)}>
          {columnIndex === 0 && hrefOf !== undefined ? (
            <Link href={hrefOf(row)} className="row-link">
              {cell(row)}
            </Link>
          ) : (
            cell(row)
          )}
        </td>
      ))}
    </tr>
  )
}

function classOf(align: 'end' | undefined, isExtra: boolean | undefined): string {
  return `${align === 'end' ? 'end' : ''} ${isExtra === true ? 'extra' : ''}`.trim()
}

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
