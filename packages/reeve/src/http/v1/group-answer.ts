import { compareText } from '@reeve/kit/sorted-list.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Table } from '../../state/index.ts'
import { jsonItems, type Answer } from '../answer.ts'
import { slicesOf } from '../slices.ts'

/** Rows that are answered in the same turn: a millisecond at most. */
const AT_ONCE_MAX = 64

export interface GroupQuery<Row> {
  readonly index: string
  readonly group: string
  /** The row as the API shows it, as JSON; undefined leaves it out. */
  readonly text: (row: Row) => string | undefined
}

/** All rows of a group by key. A job may have 50,000 allocations: they are read in slices. */
export function groupAnswer<Row extends object>(
  table: Table<Row>,
  query: GroupQuery<Row>,
  yieldTurn: () => Promise<void>,
): Result<Answer, Refusal> | Promise<Result<Answer, Refusal>> {
  const { index, group, text } = query
  if (table.countIn(index, group) > AT_ONCE_MAX) return answerInSlices(table, query, yieldTurn)
  return ok(jsonItems(table.rowsIn(index, group).flatMap((row) => text(row) ?? [])))
}

async function answerInSlices<Row extends object>(
  table: Table<Row>,
  query: GroupQuery<Row>,
  yieldTurn: () => Promise<void>,
): Promise<Result<Answer, Refusal>> {
  return ok(jsonItems(await runInSlices(itemsOf(table, query), slicesOf(yieldTurn))))
}

function* itemsOf<Row extends object>(
  table: Table<Row>,
  { index, group, text }: GroupQuery<Row>,
): Steps<readonly string[]> {
  const items: string[] = []
  for (const key of [...table.keysIn(index, group)].toSorted(compareText)) {
    // It may be gone since the keys were read.
    const row = table.find(key)
    const item = row === undefined ? undefined : text(row)
    if (item !== undefined) items.push(item)
    yield
  }
  return items
}
