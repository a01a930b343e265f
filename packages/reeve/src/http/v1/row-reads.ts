import { err, ok } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Table } from '../../state/index.ts'
import { json, jsonText } from '../answer.ts'
import type { WatchedRead } from './endpoint.ts'
import { listResponse, type ListOptions } from './list-answer.ts'

export interface RowOptions<Row> {
  readonly key: string
  /** Error if the row does not exist. */
  readonly notFound: Refusal
  /** Renders the row; its stored text unless given. */
  readonly render?: (row: Row) => unknown
  /** Reports whether the caller may see the row; a hidden one counts as missing. */
  readonly isVisible?: (row: Row) => boolean
  /** Index of a missing row; the table's unless given. */
  readonly missingIndex?: () => number
}

/** Reads one row by its key. */
export function readRow<Row extends object>(
  table: Table<Row>,
  options: RowOptions<Row>,
): WatchedRead {
  const { key, notFound, render, isVisible, missingIndex } = options
  return {
    ...watchRow(table, { key, isVisible, missingIndex }),
    respond: () => {
      const body = table.rowJsonOf(key)
      if (body === undefined || isVisible?.(table.get(key)) === false) return err(notFound)
      return ok(render === undefined ? jsonText(body) : json(render(table.get(key))))
    },
  }
}

interface RowWatchOptions<Row> {
  readonly key: string
  readonly isVisible: ((row: Row) => boolean) | undefined
  readonly missingIndex: (() => number) | undefined
}

/**
 * Returns the index and the watch of one row: its own index if it exists; if it is missing, the
 * table's in the namespaces that the caller may read. A hidden row counts as missing: neither its
 * index nor the moment of a change reveals it.
 */
export function watchRow<Row extends object>(
  table: Table<Row>,
  { key, isVisible, missingIndex = () => table.lastIndex }: RowWatchOptions<Row>,
): Pick<WatchedRead, 'index' | 'watch'> {
  const isHidden = (): boolean =>
    isVisible !== undefined && table.has(key) && !isVisible(table.get(key))
  return {
    index: () => (isHidden() ? undefined : table.modifyIndexOf(key)) ?? missingIndex(),
    watch: [{ table: table.spec.name, key: isHidden() ? UNWATCHED_KEY : key }],
  }
}

/** A key no row has: a hidden row must not wake the query. */
const UNWATCHED_KEY = ''

/**
 * Lists rows of a table. `list` is evaluated for each response: permissions may change meanwhile.
 */
export function listRows<Row extends object>(
  table: Table<Row>,
  list: () => ListOptions<Row>,
): WatchedRead {
  const watched = { index: () => table.lastIndex, watch: [{ table: table.spec.name }] }
  return listWatched(watched, list)
}

/** Lists rows of some namespaces, and watches only those. */
export function listWatched<Row extends object>(
  watched: Pick<WatchedRead, 'index' | 'watch'>,
  list: () => ListOptions<Row>,
): WatchedRead {
  return {
    ...watched,
    respond: (yieldTurn) => listResponse(list(), yieldTurn),
  }
}
