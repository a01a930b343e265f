import { useVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import { Link } from '../routing/link.tsx'
import { hrefWith } from '../routing/location.ts'
import { Loading } from './loading.tsx'
import { roomOf } from './table-room.ts'
import { useListKeys } from './use-list-keys.ts'

export interface Column<Row> {
  readonly id: string
  readonly head: string
  readonly cell: (row: Row) => ReactNode
  /** CSS width; the columns without one share the rest. */
  readonly width?: string
  readonly align?: 'end'
  /** Left out where the table is too narrow for all of its columns. */
  readonly isExtra?: boolean
  /** What the API calls the order by this column: its head becomes a link to it. */
  readonly sort?: string
}

export interface DataTableProps<Row> {
  /** What is listed, for those who hear the page. */
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Where a row leads: its first cell becomes the link. */
  readonly hrefOf?: (row: Row) => string
  /** Shown when there are no rows. */
  readonly empty: ReactNode
  /** For lists that come in pages. */
  readonly hasMore?: boolean
  readonly onEnd?: () => void
  /** The order that the rows are in, such as `-name`; absent where there is only one. */
  readonly sort?: string
}

const ROW_PX = 40
/** Below this all rows are drawn: they are searchable in the page and printable. */
const VIRTUAL_FROM = 200
/** How many rows before the end the next page is asked for. */
const AHEAD = 30

/** Rows of one kind. However many there are, only those that are seen are in the document. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rows, empty, hasMore = false } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const view = useVisibleRows(props, body)
  const [active, setActive] = useListKeys(body, { count: rows.length, reveal: view.reveal })
  if (rows.length === 0) return empty
  return (
    <div className="table-box">
      <table
        className="table"
        aria-label={label}
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        data-room={roomOf(columns)}
      >
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <ColumnHead key={column.id} column={column} current={props.sort} />
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

interface ColumnHeadProps<Row> {
  readonly column: Column<Row>
  readonly current: string | undefined
}

function ColumnHead<Row>({ column, current }: ColumnHeadProps<Row>) {
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
  /** Height of what is not drawn. */
  readonly above: number
  readonly below: number
  readonly reveal: (index: number) => void
}

function useVisibleRows<Row>(
  { rows, hasMore = false, onEnd }: DataTableProps<Row>,
  body: { readonly current: HTMLElement | null },
): VisibleRows {
  const isVirtual = rows.length >= VIRTUAL_FROM || hasMore
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
  const isNearEnd = hasMore && (last?.index ?? 0) >= rows.length - AHEAD
  useLayoutEffect(() => {
    if (isNearEnd) onEnd?.()
  }, [isNearEnd, rows.length, onEnd])
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
      {columns.map(({ id, cell, align, isExtra }, place) => (
        <td key={id} className={classOf(align, isExtra)}>
          {place === 0 && hrefOf !== undefined ? (
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
