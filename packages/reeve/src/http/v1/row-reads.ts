import { err, ok } from '../../kit/result.ts'
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
}

/**
 * One row by its key. Reference §1.5: its own index when it is there, the table's when it is not.
 */
export function readRow<Row extends object>(table: Table<Row>, options: RowOptions<Row>): ReadPlan {
  const { key, missing, show, isVisible } = options
  return {
    index: () => table.modifyIndexOf(key) ?? table.lastIndex,
    watch: [{ table: table.spec.name, key }],
    answer: () => {
      const body = table.bodyOf(key)
      if (body === undefined || isVisible?.(table.get(key)) === false) return err(missing)
      return ok(show === undefined ? jsonText(body) : json(show(table.get(key))))
    },
  }
}

/** A list of a table's rows. `list` is asked for each answer: rights may change meanwhile. */
export function listRows<Row extends object>(
  table: Table<Row>,
  list: () => ListOptions<Row>,
): ReadPlan {
  return {
    index: () => table.lastIndex,
    watch: [{ table: table.spec.name }],
    answer: () => listAnswer(list()),
  }
}
