import { err, ok } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Table } from '../../state/index.ts'
import { json, jsonText } from '../answer.ts'
import type { ReadPlan } from './endpoint.ts'
import { listAnswer, type ListOptions } from './list-answer.ts'

export interface RowOptions<Row> {
  readonly key: string
  /** What is answered when there is no such row. */
  readonly missing: Refusal
  /** The row as the API shows it; its stored text unless given. */
  readonly show?: (row: Row) => unknown
  /** Whether the caller may see it; one that it may not see is missing. */
  readonly isVisible?: (row: Row) => boolean
  /** The index of a row that is missing; the table's unless given. */
  readonly missingIndex?: () => number
}

/** One row by its key. */
export function readRow<Row extends object>(table: Table<Row>, options: RowOptions<Row>): ReadPlan {
  const { key, missing, show, isVisible, missingIndex } = options
  return {
    ...watchRow(table, { key, isVisible, missingIndex }),
    answer: () => {
      const body = table.bodyOf(key)
      if (body === undefined || isVisible?.(table.get(key)) === false) return err(missing)
      return ok(show === undefined ? jsonText(body) : json(show(table.get(key))))
    },
  }
}

interface WatchedRow<Row> {
  readonly key: string
  readonly isVisible: ((row: Row) => boolean) | undefined
  readonly missingIndex: (() => number) | undefined
}

/**
 * The index of a row that exists is its own; of a missing one it is the table's in the namespaces
 * that the caller may read. A hidden row counts as missing: neither its index nor the moment of a
 * change reveals it.
 */
export function watchRow<Row extends object>(
  table: Table<Row>,
  { key, isVisible, missingIndex = () => table.lastIndex }: WatchedRow<Row>,
): Pick<ReadPlan, 'index' | 'watch'> {
  const isHidden = (): boolean =>
    isVisible !== undefined && table.has(key) && !isVisible(table.get(key))
  return {
    index: () => (isHidden() ? undefined : table.modifyIndexOf(key)) ?? missingIndex(),
    watch: [{ table: table.spec.name, key: isHidden() ? NO_KEY : key }],
  }
}

/** No row has it, so that nothing wakes who waits for it. */
const NO_KEY = ''

/** A list of a table's rows. `list` is asked for each answer: rights may change meanwhile. */
export function listRows<Row extends object>(
  table: Table<Row>,
  list: () => ListOptions<Row>,
): ReadPlan {
  const watched = { index: () => table.lastIndex, watch: [{ table: table.spec.name }] }
  return listWatched(watched, list)
}

/** A list of rows in namespaces, which waits for those alone. */
export function listWatched<Row extends object>(
  watched: Pick<ReadPlan, 'index' | 'watch'>,
  list: () => ListOptions<Row>,
): ReadPlan {
  return {
    ...watched,
    answer: (yieldTurn) => listAnswer(list(), yieldTurn),
  }
}
